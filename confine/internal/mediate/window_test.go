package mediate

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

func write(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "write", Target: target, Absent: false}
}

func missing(target string) spec.Refusal {
	return spec.Refusal{Axis: policy.AxisFs, Operation: "create", Target: target, Absent: true}
}

// TestPageAbsents: names that nobody has, however many, take no refusal its place.
func TestPageAbsents(t *testing.T) {
	var p window
	named := 0
	for i := range 10 * spec.MaxRefusals {
		if as, tell, _ := p.count(missing(fmt.Sprint("/nowhere/", i))); tell && as.Target != policy.DenialOthers {
			named++
		}
	}
	if named != spec.MaxAbsents {
		t.Errorf("%d names of 10000 were told", named)
	}
	for i := range spec.MaxRefusals {
		if s := write(fmt.Sprint("/a/", i)); !tells(&p, s, s, false) {
			t.Fatalf("%s has no place", s.Target)
		}
	}
	if !tells(&p, write("/late"), write(policy.DenialOthers), true) {
		t.Error("one too many is not among the others")
	}
}

// TestPageRepeats: one that is tried again at once is told each time, and what is not
// told any more has been announced.
func TestPageRepeats(t *testing.T) {
	var p window
	s := write("/a")
	for i := range 1 + spec.MaxAgain {
		if !tells(&p, s, s, false) {
			t.Fatalf("time %d is not told", i)
		}
	}
	if !tells(&p, s, s, true) {
		t.Error("that more is to come is not announced")
	}
	for range 1000 {
		if _, tell, held := p.count(s); tell || !held {
			t.Fatal("told again what was announced")
		}
	}
	if other := write("/b"); !tells(&p, other, other, false) {
		t.Error("another is not told")
	}
	if rest := p.flush(); len(rest) != 1 || rest[0].Target != "/a" || rest[0].Num != 1000 {
		t.Errorf("the rest is %+v", rest)
	}
}

// TestPageIsBounded: whatever a server does, a page holds and tells no more than that,
// and nothing that happened goes uncounted.
func TestPageIsBounded(t *testing.T) {
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
		t.Errorf("%d places, %d told and %d later", len(p.seen), told, len(rest))
	}
	for _, m := range rest {
		told += m.Num
	}
	if told != seen {
		t.Errorf("%d of %d are counted", told, seen)
	}
}

func tells(p *window, s, want spec.Refusal, announced bool) bool {
	as, tell, held := p.count(s)
	return tell && as == want && held == announced
}
