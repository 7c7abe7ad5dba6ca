package wrapping

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestTakeOver: at a start, other words than those of its file count for an id only if an entry of the user's own has
// exactly this line.
func TestTakeOver(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	entry := func(words string) string {
		return `{"mcpServers": {"s": {"command": "` + program + `", "args": ["run", "--id", "` + id + `", "--", ` + words + `]}}}`
	}
	for name, c := range map[string]struct {
		own, other, project, given string
		want                       string
	}{
		"the user's own line":            {own: `"x", "b"`, given: "x b", want: "x b"},
		"with a client's variable":       {own: `"x", "${B}/c"`, given: "x /b/c", want: "x ${B}/c"},
		"another line":                   {own: `"x", "b"`, given: "x c"},
		"a project's line":               {project: `"x", "b"`, given: "x b"},
		"a project's, beside the user's": {own: `"x", "a"`, project: `"x", "b"`, given: "x b"},
		"another entry has its words":    {own: `"x", "b"`, other: `"x", "a"`, given: "x b"},
	} {
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
