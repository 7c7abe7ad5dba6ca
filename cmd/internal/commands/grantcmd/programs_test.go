package grantcmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestHarmToOthers: what another server is started from is not granted to write, and what lies beside it is asked for.
func TestHarmToOthers(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	testkit.PlantBelow(t, home, "b/n.js", "b/lib/x.js", "c/m.js", "todo.js", "data/")
	testkit.Must(t, os.Symlink(filepath.Join(home, "c"), filepath.Join(home, "link")))
	x := &index.Index{Host: hostfs.Host{Home: home}, Servers: []*index.Server{
		{Name: "vault", Key: "vault", Words: []string{"node", home + "/b/n.js"}},
		{Name: "there", Key: "there", Words: []string{"node", "m.js"}, Dir: home + "/link"},
		{Name: "top", Key: "top", Words: []string{"node", "~/todo.js"}},
		{Name: "own", Key: "own", Words: []string{"node", home + "/data/own.js"}},
	}}
	for path, want := range map[string]string{
		"b/n.js": "never", "b": "never", "b/lib/x.js": "ask", "c/m.js": "never", "c/data": "ask", "todo.js": "never", "data": "", "data/own.js": "", "new": "", "": "never",
	} {
		got := ""
		switch h := harmToOthers(x, "own", filepath.Join(home, path)); {
		case h.Never != "":
			got = "never"
		case h.Ask != "":
			got = "ask"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
