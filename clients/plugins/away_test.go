package plugins

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestAway: what leads to another machine is named, and nothing looks at it. The control has no such ways,
// and there the servers are found.
func TestAway(t *testing.T) {
	const (
		list    = ".claude/plugins/installed_plugins.json"
		v2      = `{"plugins": {"p@m": {"installPath": "HOME/r"}}}`
		markets = ".claude/plugins/known_marketplaces.json"
		isDir   = `{"m": {"source": {"source": "directory"}, "installLocation": "HOME/mk"}}`
		link    = ".gemini/extensions/e/.gemini-extension-install.json"
	)
	for name, c := range map[string]struct {
		client string
		away   string // the end of the path that leads away
		files  map[string]string
		found  string // without that
	}{
		"a file":             {"claude-code", "r/.mcp.json", map[string]string{list: v2, "r/.mcp.json": "{}"}, "r/.mcp.json"},
		"a manifest":         {"claude-code", "r/.claude-plugin/plugin.json", map[string]string{list: v2, "r/.claude-plugin/plugin.json": `{"mcpServers": {}}`}, "r/.claude-plugin/plugin.json"},
		"what it names":      {"claude-code", "r/x/s.json", map[string]string{list: v2, "r/.claude-plugin/plugin.json": `{"mcpServers": "./x/s.json"}`, "r/x/s.json": "{}"}, "r/x/s.json"},
		"of a market":        {"claude-code", "mk/.claude-plugin/marketplace.json", map[string]string{list: v2, markets: isDir, "mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "./x"}]}`, "mk/x/.mcp.json": "{}"}, "mk/x/.mcp.json"},
		"a market's folder":  {"claude-code", "mk/x", map[string]string{list: v2, markets: isDir, "mk/.claude-plugin/marketplace.json": `{"plugins": [{"name": "p", "source": "./x"}]}`, "mk/x/.mcp.json": "{}"}, "mk/x/.mcp.json"},
		"an extension":       {"gemini", "e/gemini-extension.json", map[string]string{".gemini/extensions/e/gemini-extension.json": `{"mcpServers": {}}`}, ".gemini/extensions/e/gemini-extension.json"},
		"an extension's way": {"gemini", "dev", map[string]string{link: `{"type": "link", "source": "HOME/dev"}`, "dev/gemini-extension.json": `{"mcpServers": {}}`}, "dev/gemini-extension.json"},
		"a note of it":       {"gemini", "e/.gemini-extension-install.json", map[string]string{link: `{"type": "link", "source": "HOME/dev"}`, "dev/gemini-extension.json": `{"mcpServers": {}}`}, "dev/gemini-extension.json"},
	} {
		for _, leads := range []bool{false, true} {
			host, look := newLook(t, c.files)
			client, err := clients.ByName(c.client)
			if err != nil {
				t.Fatal(err)
			}
			far := func(path string) bool { return leads && strings.HasSuffix(filepath.ToSlash(path), "/"+c.away) }
			host.Away = func(_, path string) error {
				if far(path) {
					return errors.New("it leads away")
				}
				return nil
			}
			read, real := look.Read, look.Real
			look.Read = func(path string) ([]byte, error) {
				if far(path) {
					t.Errorf("%s: %s is read", name, path)
				}
				return read(path)
			}
			look.Real = func(path string) (string, error) {
				if far(path) {
					t.Errorf("%s: %s is looked at", name, path)
				}
				return real(path)
			}
			var found []string
			refused := 0
			for _, p := range Find(client, host, look) {
				for _, f := range p.Files {
					found = append(found, f.Path)
				}
				for _, n := range p.Named {
					if n.Why == "it leads away" {
						refused++
					}
				}
			}
			if got := slices.Contains(found, filepath.Join(host.Home, filepath.FromSlash(c.found))); got == leads || refused != map[bool]int{true: 1}[leads] {
				t.Errorf("%s, leads away %t: found %q, %d are named", name, leads, found, refused)
			}
		}
	}
}
