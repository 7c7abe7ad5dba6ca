package confine

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func write(target string) sighting { return sighting{policy.AxisFs, "write", target, false} }

func missing(target string) sighting { return sighting{policy.AxisFs, "create", target, true} }

// TestPageAbsents: names that nobody has, however many, take no refusal its place.
func TestPageAbsents(t *testing.T) {
	var p page
	named := 0
	for i := range 10 * maxRefusals {
		if as, tell, _ := p.see(missing(fmt.Sprint("/nowhere/", i))); tell && as.target != others {
			named++
		}
	}
	if named != maxAbsents {
		t.Errorf("%d names of 10000 were told", named)
	}
	for i := range maxRefusals {
		if s := write(fmt.Sprint("/a/", i)); !tells(&p, s, s, false) {
			t.Fatalf("%s has no place", s.target)
		}
	}
	if !tells(&p, write("/late"), write(others), true) {
		t.Error("one too many is not among the others")
	}
}

// TestPageRepeats: one that is tried again at once is told each time, and what is not
// told any more has been announced.
func TestPageRepeats(t *testing.T) {
	var p page
	s := write("/a")
	for i := range 1 + maxAgain {
		if !tells(&p, s, s, false) {
			t.Fatalf("time %d is not told", i)
		}
	}
	if !tells(&p, s, s, true) {
		t.Error("that more is to come is not announced")
	}
	for range 1000 {
		if _, tell, held := p.see(s); tell || !held {
			t.Fatal("told again what was announced")
		}
	}
	if other := write("/b"); !tells(&p, other, other, false) {
		t.Error("another is not told")
	}
	if rest := p.rest(); len(rest) != 1 || rest[0].target != "/a" || rest[0].num != 1000 {
		t.Errorf("the rest is %+v", rest)
	}
}

// TestPageIsBounded: whatever a server does, a page holds and tells no more than that,
// and nothing that happened goes uncounted.
func TestPageIsBounded(t *testing.T) {
	var p page
	var told, seen int
	for range 3 {
		for i := range 10 * maxRefusals {
			for _, s := range []sighting{write(fmt.Sprint(i)), missing(fmt.Sprint(i))} {
				seen++
				if _, tell, _ := p.see(s); tell {
					told++
				}
			}
		}
	}
	rest := p.rest()
	if places := maxRefusals + maxAbsents + 2; len(p.seen) != places || told > 2*places+maxAgain || len(rest) > places {
		t.Errorf("%d places, %d told and %d later", len(p.seen), told, len(rest))
	}
	for _, m := range rest {
		told += m.num
	}
	if told != seen {
		t.Errorf("%d of %d are counted", told, seen)
	}
}

func tells(p *page, s, want sighting, announced bool) bool {
	as, tell, held := p.see(s)
	return tell && as == want && held == announced
}
