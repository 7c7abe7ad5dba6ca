package wrapping

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestTakeOver: at a start, other words than those of its file count for an id only if an entry of the user's own has
// exactly this line.
func TestTakeOver(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	entry := func(words string) string {
		return `{"mcpServers": {"s": {"command": "` + program + `", "args": ["run", "--id", "` + id + `", "--", ` + words + `]}}}`
	}
	for name, c := range testkit.Named[struct {
		own, other, project, given string
		want                       string
	}](t, "takeover.txt") {
		h := newHost(t)
		h.Env = func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": h.Project}[name] }
		file := filepath.Join(configDir(h), config.ServersDir, "s.toml")
		write(t, file, "[servers.s]\nid = \""+id+"\"\ncommand = \"x\"\narguments = [\"a\"]\nhome = \"real\"\n")
		for path, words := range map[string]string{
			filepath.Join(h.Home, ".claude.json"):     c.own,
			filepath.Join(h.Home, ".cursor/mcp.json"): c.other,
			filepath.Join(h.Project, ".mcp.json"):     c.project,
			filepath.Join(h.Project, ".claude.json"):  c.project,
		} {
			if words != "" {
				write(t, path, entry(words))
			}
		}
		place, err := TakeOver(configDir(h), h, id, strings.Fields(c.given))
		must(t, err)
		f, err := config.FindServerFile(configDir(h), id)
		must(t, err)
		want, wantPlace := c.want, filepath.Join(h.Home, ".claude.json")+", line 1"
		if want == "" {
			want, wantPlace = "x a", ""
		}
		if got := strings.Join(f.Words(), " "); got != want || place != wantPlace || f.Server.Home != "real" {
			t.Errorf("%s: %s, taken from %q", name, got, place)
		}
	}
}
