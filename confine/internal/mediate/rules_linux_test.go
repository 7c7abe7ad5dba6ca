package mediate

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
)

// TestRuleBudget checks how many rules of Landlock a server can make and copy at once, and later.
func TestRuleBudget(t *testing.T) {
	b := ruleBudget{jail: 100}
	now := time.Now()
	count := func(op seccomp.Op) (n int) {
		for n < 1<<20 && b.allow(op, now) {
			n++
		}
		return n
	}
	if n := count(seccomp.OpRestrict); n != firstCopies/100 {
		t.Errorf("%d threads restricted without a rule of their own, want %d", n, firstCopies/100)
	}
	b = ruleBudget{jail: 100}
	if n := count(seccomp.OpRule); n != firstRules {
		t.Errorf("%d rules at once, want %d", n, firstRules)
	}
	if n := count(seccomp.OpRestrict); n != firstCopies/(firstRules+100) {
		t.Errorf("%d threads restricted at once, want %d", n, firstCopies/(firstRules+100))
	}
	now = now.Add(90 * time.Second)
	if n := count(seccomp.OpRule); n != 90 {
		t.Errorf("%d rules after 90 seconds", n)
	}
	if n := count(seccomp.OpRestrict); n == 0 || n > 90 {
		t.Errorf("%d threads restricted after 90 seconds", n)
	}
}
