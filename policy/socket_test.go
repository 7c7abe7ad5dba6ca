package policy

import "testing"

// A socket in a granted directory is hidden, unless a rule names it.
func TestHostSockets(t *testing.T) {
	h := newFake(aSystem, `
		s /home/u/proj/run/db.sock
		f /home/u/proj/run/db.pid
		p /home/u/proj/run/fifo`)
	for _, tt := range []struct {
		rules []string
		want  Rights
	}{
		{[]string{"/home/u/proj:rw"}, 0},
		{[]string{"/home/u/proj:r"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run:rw"}, 0},
		{[]string{"/home/u/proj:rw", "/home/u/proj/run/db.sock:rw"}, Read | Write},
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
