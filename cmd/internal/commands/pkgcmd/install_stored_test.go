package pkgcmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestEntryWaivers: what an entry of the user's own accepts counts where its package is installed. What a project's entry
// accepts does not.
func TestEntryWaivers(t *testing.T) {
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	home := testkit.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	testkit.Must(t, os.Mkdir(filepath.Join(home, "project"), 0o700))
	t.Chdir(filepath.Join(home, "project"))
	host := testkit.Get(hostfs.LocalHost())(t)
	for file, want := range map[string]int{".claude.json": 1, "project/.mcp.json": 0} {
		path := filepath.Join(home, file)
		testkit.WriteFile(t, path, `{"mcpServers": {"a": {"command": "mcp-jail", "args": ["run", "--waive", "fs", "--", "npx", "-y", "a"]}}}`)
		if got := entryWaivers(host, []string{"npx", "-y", "a"}); len(got) != want {
			t.Errorf("%s: %q", file, got)
		}
		testkit.Must(t, os.Remove(path))
	}
}
