package resolve

import (
	"testing"
)

// TestConstrainsStarts: a rule with args or envs holds for each start, one without lists programs.
func TestConstrainsStarts(t *testing.T) {
	for table, want := range map[string]bool{"": false, "args = [\"x\"]": true, "args = [[]]": true, "envs = []": true, "envs = [\"A\"]": true} {
		p, _ := mustResolve(t, newFake(aSystem, "x /usr/bin/git"), aServer+"[servers.s.access.commands.git]\n"+table+"\n")
		if p.ConstrainsStarts() != want || (p.Commands != nil) != want || (p.OwnPrograms != nil) != want {
			t.Errorf("%s: %+v", table, p)
		}
	}
}
