package wrapping

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/edit"
)

// TestLargeFiles: a user's file of JSON may be large. The others may not, and the reason says how large
// they may be.
func TestLargeFiles(t *testing.T) {
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	history := `"history": ["` + strings.Repeat("x", edit.MaxSize) + `"]`
	servers := `"mcpServers": {"m": {"command": "npx", "args": ["-y", "some-server"]}}`
	for path, c := range map[string]struct{ text, why string }{
		h.Home + "/.claude.json":                   {"{" + history + ", " + servers + "}", ""},
		h.Home + "/.cursor/mcp.json":               {"{" + servers + ", " + history + "}", ""},
		h.Project + "/.mcp.json":                   {"{" + servers + ", " + history + "}", "of at most 5 MB"},
		h.Home + "/.codex/config.toml":             {"[mcp_servers.m]\ncommand = 'x'\nargs = ['" + strings.Repeat("x", edit.MaxSize) + "']", "of at most 5 MB"},
		h.Home + "/.config/opencode/opencode.json": {`{"mcp": {"m": {"command": ["x"]}}, ` + history + "}", "reads all of the file"},
		h.Home + "/.warp/.mcp.json":                {`{"m": {"command": "x"}, ` + history + "}", "reads all of the file"},
		h.Home + "/.gemini/settings.json":          {`{"mcpServers": {"m": {"command": "` + strings.Repeat("x", edit.MaxSize) + `"}}}`, "tables of servers"},
	} {
		write(t, path, c.text)
		files, err := Find(h, Selection{Files: []string{path}})
		must(t, err)
		f := files[0]
		if c.why != "" {
			if f.Err == nil || !strings.Contains(f.Err.Error(), c.why) || len(f.Entries) > 0 {
				t.Errorf("%s: %v, %d entries, want %q", path, f.Err, len(f.Entries), c.why)
			}
			continue
		}
		state := filepath.Join(h.Home, "state")
		change := f.Wrap(ours, Selection{}, h, newIDs(h))
		if diff := change.Diff(); len(diff) > 1000 || !strings.Contains(diff, ours.Path) {
			t.Errorf("%s: %d bytes of difference", path, len(diff))
		}
		_, err = change.Write(state, time.Now())
		must(t, err)
		f = only(t, h, Selection{Files: []string{path}})
		if len(f.Entries) != 1 || !f.Judge(f.Entries[0], ours, h).Jailed {
			t.Errorf("%s: wrapped, it has %d entries", path, len(f.Entries))
		}
	}
}
