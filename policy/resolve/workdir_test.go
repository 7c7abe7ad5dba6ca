package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The server starts in its workspace whenever that is there to be seen.
func TestDirectory(t *testing.T) {
	h := newFake(aSystem, "d /work/ws/sub", "f /work/ws/file", "d /tmp/ws/sub", "d /other")
	for _, row := range []struct{ dir, rules, want string }{
		{"/work/ws", fsRules(".:r"), "/work/ws"},
		{"/work/ws", fsRules("sub:r"), "/work/ws"},
		{"/work/ws", fsRules("file:r"), "/work/ws"},
		{"/work/ws", fsRules("/work:r"), "/work/ws"},
		{"/work/ws", fsRules("/:r"), "/work/ws"},
		{"/tmp/ws", fsRules("sub:r"), "/tmp/ws"},
		{"/tmp/ws", fsRules("/tmp/ws:r"), "/tmp/ws"},
		{"/work/ws", fsRules("/other:r"), ""},
		{"/work/ws", fsRules("/work:r", "/work/ws:"), ""},
		{"/tmp/ws", fsRules("/:r"), ""}, // /tmp is the jail's own
	} {
		p, _ := mustResolve(t, h, row.rules, func(h *hostfs.Host) { h.Dir = row.dir })
		want := row.want
		if want == "" {
			want = p.Home
		}
		if p.Dir != want {
			t.Errorf("in %s with %q: starts in %s, want %s", row.dir, row.rules, p.Dir, want)
		}
	}
}
