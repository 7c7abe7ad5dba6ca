package mediate

import (
	"testing"
	"time"
)

// TestRuleBudget checks how many rules of Landlock a server can make at once, and later.
func TestRuleBudget(t *testing.T) {
	var b ruleBudget
	now := time.Now()
	count := func() (n int) {
		for n < 1<<20 && b.allow(now) {
			n++
		}
		return n
	}
	if n := count(); n != firstRules {
		t.Errorf("%d rules at once, want %d", n, firstRules)
	}
	now = now.Add(90 * time.Second)
	if n := count(); n != 90 {
		t.Errorf("%d rules after 90 seconds", n)
	}
}
