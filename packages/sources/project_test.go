package sources

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOfProject tests which files of a project name a registry of its own. No file of the home directory or above
// it counts, and none says anything about the other ecosystem.
func TestOfProject(t *testing.T) {
	for _, c := range []struct {
		file, text string
		npm        bool
		want       string // the line; "" for none
	}{
		{"p/.npmrc", "fund=false\nregistry = https://r.test/\n", true, "registry = https://r.test/"},
		{"p/.npmrc", "@acme:registry=https://r.test\n", true, "@acme:registry=https://r.test"},
		{"p/.npmrc", "//r.test/:_authToken=${T}\nsave-exact=true\n", true, ""},
		{"p/.npmrc", "registry=https://r.test/\n", false, ""},
		{"p/sub/.npmrc", "registry=https://me:pw@r.test/\n", true, "registry=https://r.test/"},
		{".npmrc", "registry=https://r.test/\n", true, ""},
		{"p/pip.conf", "[global]\nextra_index_url = https://r.test\n", false, "extra_index_url = https://r.test"},
		{"p/pip.conf", "[global]\nindex-url = https://r.test\n", true, ""},
		{"p/uv.toml", "[[index]]\nurl = 'https://r.test'\n", false, "[[index]]"},
		{"p/uv.toml", "python-downloads = 'never'\n", false, ""},
		{"p/pyproject.toml", "[tool.uv.pip]\nindex-url = 'https://r.test'\n", false, "index-url = 'https://r.test'"},
		{"p/pyproject.toml", "[[tool.uv.index]]\nurl = 'https://r.test'\n", false, "[[tool.uv.index]]"},
		{"p/pyproject.toml", "[project]\nname = 'p'\n", false, ""},
	} {
		home := t.TempDir()
		testkit.Must(t, os.MkdirAll(filepath.Join(home, "p/sub"), 0o700))
		testkit.WriteFile(t, filepath.Join(home, filepath.FromSlash(c.file)), c.text)
		host, err := hostfs.LocalHost()
		testkit.Must(t, err)
		host.Home, host.Dir = home, filepath.Join(home, "p/sub")
		own := OfProject(&host, c.npm)
		if (own == nil) != (c.want == "") || own != nil && own.Line != c.want {
			t.Errorf("%s with %q, npm %v: %+v, want %q", c.file, c.text, c.npm, own, c.want)
		}
	}
}
