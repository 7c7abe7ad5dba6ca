package refusals

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func write(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "write", Target: target, Absent: false}
}

func missing(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "create", Target: target, Absent: true}
}

// TestWindowRepeats checks that the first repeats of a refusal are reported at once, that the
// last of these announces more, and that flush counts the rest.
func TestWindowRepeats(t *testing.T) {
	var p window
	s := write("/a")
	for i := range 1 + spec.MaxAgain {
		if !tells(&p, s, s, false) {
			t.Fatalf("repeat %d is not reported", i)
		}
	}
	if !tells(&p, s, s, true) {
		t.Error("the last report does not announce more")
	}
	for range 1000 {
		if _, tell, held := p.count(s); tell || !held {
			t.Fatal("an announced refusal was reported again")
		}
	}
	if other := write("/b"); !tells(&p, other, other, false) {
		t.Error("another refusal is not reported")
	}
	if rest := p.flush(); len(rest) != 1 || rest[0].Target != "/a" || rest[0].Num != 1000 {
		t.Errorf("the rest is %+v", rest)
	}
}

// TestWindowIsBounded checks that a window bounds its memory and its events, and still counts
// each refusal.
func TestWindowIsBounded(t *testing.T) {
	var p window
	var told, seen int
	for range 3 {
		for i := range 10 * spec.MaxRefusals {
			for _, s := range []spec.Refusal{write(fmt.Sprint(i)), missing(fmt.Sprint(i))} {
				seen++
				if _, tell, _ := p.count(s); tell {
					told++
				}
			}
		}
	}
	rest := p.flush()
	if places := spec.MaxRefusals + spec.MaxAbsents + 2; len(p.seen) != places || told > 2*places+spec.MaxAgain || len(rest) > places {
		t.Errorf("%d slots, %d reported at once and %d later", len(p.seen), told, len(rest))
	}
	for _, m := range rest {
		told += m.Num
	}
	testkit.Equal(t, "of … refusals are counted", told, seen)
}

// tells counts s, and reports whether the result is an event for want.
func tells(p *window, s, want spec.Refusal, announced bool) bool {
	as, tell, held := p.count(s)
	return tell && as == want && held == announced
}
