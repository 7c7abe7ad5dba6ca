package installed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/packages/lockfile"
)

// TestDescribes: what packages say of their name in the MCP registry.
func TestDescribes(t *testing.T) {
	for _, c := range []struct {
		ecosystem        lockfile.Ecosystem
		name, file, text string
		names, owner     string
	}{
		{lockfile.NPM, "@a/b", "node_modules/@a/b/package.json", `{"mcpName":"io.github.a/b","repository":{"url":"git+https://github.com/Other/b.git"}}`, "io.github.a/b", "Other"},
		{lockfile.NPM, "b", "node_modules/b/package.json", `{"repository":"github:other/b"}`, "", "other"},
		{lockfile.NPM, "b", "node_modules/b/package.json", `{"mcpName":"io.github.a/b","repository":"https://git.test/x/b"}`, "io.github.a/b", ""},
		{lockfile.NPM, "b", "node_modules/b/package.json", `{"mcpName":7}`, "", ""},
		{lockfile.NPM, "b", "node_modules/c/package.json", `{"mcpName":"io.github.a/b"}`, "", ""},
		{"pypi", "a-b.c", "site/A_b_c-1.0.dist-info/METADATA", "Name: a-b.c\n\n# Readme\n<!-- mcp-name: io.github.a/b -->\nmcp-name: io.github.a/b.\n", "io.github.a/b", ""},
		{"pypi", "a", "site/other-1.0.dist-info/METADATA", "mcp-name: io.github.a/b", "", ""},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(c.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := describes(dir, &lockfile.Entry{Key: lockfile.Key{Ecosystem: c.ecosystem}, Name: c.name}); strings.Join(got.names, " ") != c.names || got.owner != c.owner {
			t.Errorf("%s: %+v, want %q of %q", c.text, got, c.names, c.owner)
		}
	}
}

// TestRemarkOn: which names are told.
func TestRemarkOn(t *testing.T) {
	for _, c := range []struct {
		d           description
		asked, want string
	}{
		{description{names: []string{"io.github.a/b"}}, "io.github.a/b", ""},
		{description{names: []string{"io.github.a/b"}}, "", ""},
		{description{}, "", ""},
		{description{owner: "x"}, "", ""},
		{description{names: []string{"io.github.a/b"}, owner: "A"}, "", ""},
		{description{names: []string{"com.example/b"}, owner: "a"}, "", ""},
		{description{names: []string{"io.github.other/b"}}, "io.github.a/b", "calls itself io.github.other/b, and mcp_name asks for io.github.a/b"},
		{description{names: []string{"io.github.A/b"}}, "io.github.a/b", "calls itself"}, // the registry tells case apart
		{description{}, "io.github.a/b", "does not call itself io.github.a/b"},
		{description{names: []string{"io.github.other/b"}, owner: "a"}, "", "its source is of a on GitHub"},
	} {
		got := c.d.remark("p 1.0", c.asked)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v, asked for %q: %q, want %q", c.d, c.asked, got, c.want)
		}
	}
}
