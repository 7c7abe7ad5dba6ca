package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestMadeDuringResolve tests that a file is hidden which is made after its directory was listed,
// and before the search for names that must be hidden comes to it.
func TestMadeDuringResolve(t *testing.T) {
	h := newFake(aSystem, "d /home/u/.cache\nf /home/u/.cache/old/.env")
	listed := 0
	p, _ := mustResolve(t, h, fsRules("/home/u/.cache:rw"), func(host *hostfs.Host) {
		readDir := host.ReadDir
		host.ReadDir = func(p string) ([]hostfs.DirEntry, error) {
			entries, err := readDir(p)
			if p == "/home/u/.cache" {
				if listed++; listed == 1 {
					h.add("f /home/u/.cache/new/.env")
					h.add("f /home/u/.cache/new/plain")
				}
			}
			return entries, err
		}
	})
	if listed < 2 {
		t.Fatalf("control: the directory was listed %d times", listed)
	}
	for _, name := range []string{"old/.env", "new/.env"} {
		if got := p.RightsAt("/home/u/.cache/" + name); got != 0 {
			t.Errorf("%s: %s", name, got)
		}
	}
	if p.RightsAt("/home/u/.cache/new/plain") == 0 {
		t.Error("control: its neighbour is hidden, too")
	}
}
