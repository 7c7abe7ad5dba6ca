package analysis

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDisplay tests how a grant names a path: relative only to a workspace that is narrower than
// the home, since a client may start elsewhere the next time.
func TestDisplay(t *testing.T) {
	for _, c := range testkit.Table[struct{ workspace, path, want string }](t, "grant-display.txt") {
		w := grantWriter{UserHome: "/home/u", Profile: &policy.Profile{Workspace: c.workspace}}
		if got := w.Display(c.path); got != c.want {
			t.Errorf("%s in the workspace %q: %s, want %s", c.path, c.workspace, got, c.want)
		}
	}
}
