package analysis

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestGrantedByPath(t *testing.T) {
	rules := []policy.NetRule{{Host: "a.b", PathPrefix: "/v1", Allow: true}, {Host: "a.b", PathPrefix: "/v1/admin"}, {Host: "c.d"}}
	for _, tt := range []struct {
		host string
		port int
		want bool
	}{{"a.b", 443, true}, {"a.b", 0, true}, {"a.b", 8443, false}, {"c.d", 443, false}} {
		if got := grantsHost(rules, tt.host, tt.port, ""); got != tt.want {
			t.Errorf("%s:%d is granted: %v", tt.host, tt.port, got)
		}
	}
}

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
