package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHostSockets checks that a socket in a granted directory is hidden unless a rule
// names it.
func TestHostSockets(t *testing.T) {
	h := newFake(aSystem, `
		s /home/u/proj/run/db.sock
		f /home/u/proj/run/db.pid
		p /home/u/proj/run/fifo`)
	for _, tt := range []struct {
		rules []string
		want  policy.Rights
	}{
		{[]string{"/home/u/proj:rw"}, 0},
		{[]string{"/home/u/proj:r"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run:rw"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run/db.sock:rw"}, policy.Read | policy.Write},
	} {
		p, _ := mustResolve(t, h, fsRules(tt.rules...))
		if got := p.RightsAt("/home/u/proj/run/db.sock"); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.rules, got, tt.want)
		}
		if p.RightsAt("/home/u/proj/run/db.pid") == 0 || p.RightsAt("/home/u/proj/run/fifo") == 0 {
			t.Errorf("%v: the neighbours of the socket are hidden too", tt.rules)
		}
	}
}

// TestFifosInReadOnlyParts checks that a fifo is hidden in a part that only a mount makes
// read-only: such a mount does not prevent writes to a fifo.
func TestFifosInReadOnlyParts(t *testing.T) {
	h := newFake(aSystem, "p /home/u/proj/run/ctl\np /home/u/proj/free")
	for _, tt := range []struct {
		toml, path string
		want       policy.Rights
	}{
		{fsRules(".:rw", "run:r"), "/home/u/proj/run/ctl", 0},
		{fsRules(".:r", "run:r"), "/home/u/proj/run/ctl", policy.Read},
		{fsRules(".:rw", "run:r"), "/home/u/proj/free", policy.Read | policy.Write},
		{fsRules(".:rw", "run:r", "run/ctl:rw"), "/home/u/proj/run/ctl", policy.Read | policy.Write},
	} {
		p, _ := mustResolve(t, h, tt.toml)
		if got := p.RightsAt(tt.path); got != tt.want {
			t.Errorf("%s: %s, want %s\n%s", tt.path, got, tt.want, tt.toml)
		}
	}
}
