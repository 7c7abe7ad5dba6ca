package mediate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

func seeing(operation, target string) spec.Sighting {
	return spec.Sighting{Axis: policy.AxisFs, Operation: operation, Target: target}
}

// counted adds all names, and returns how often each sighting stands for one: what was reported at
// once, and what a flush reports.
func counted(l *sightings, all ...spec.Sighting) map[spec.Sighting]int {
	counts := map[spec.Sighting]int{}
	for _, s := range all {
		if as, report := l.add(s); report {
			counts[as]++
		}
	}
	for _, m := range l.flush() {
		counts[spec.Sighting{Axis: policy.Axis(m.Step), Operation: m.Detail, Target: m.Target, Arguments: m.Arguments, Seen: m.Seen}] += m.Num
	}
	return counts
}

// TestSightings: equal sightings are reported once and counted, and after a flush anew.
func TestSightings(t *testing.T) {
	var l sightings
	for range 2 {
		got := counted(&l, seeing("read", "/a"), seeing("write", "/a"), seeing("read", "/a"), seeing("read", "/a"), seeing("read", "/"))
		if len(got) != 3 || got[seeing("read", "/a")] != 3 || got[seeing("write", "/a")] != 1 || got[seeing("read", "/")] != 1 {
			t.Errorf("%v", got)
		}
	}
}

// TestSightingsBounds: every sighting is counted somewhere, and what is kept has bounds.
func TestSightingsBounds(t *testing.T) {
	crowded := func(operation, dir string) spec.Sighting {
		s := seeing(operation, dir)
		s.Seen = spec.SeenDir
		return s
	}
	for _, c := range []struct {
		what  string
		n     int
		make  func(i int) spec.Sighting
		where spec.Sighting // where those beyond the bound are counted
		apart int
	}{
		{"of one directory", 1000, func(i int) spec.Sighting { return seeing("read", fmt.Sprint("/d/", i)) }, crowded("read", "/d"), spec.MaxSightedIn},
		{"new directories of one", 1000, func(i int) spec.Sighting { return seeing("mkdir", fmt.Sprint("/d/", i)) }, crowded("create", "/d"), spec.MaxSightedIn},
		{"of many", 20000, func(i int) spec.Sighting { return seeing("read", fmt.Sprint("/", i/9, "/", i%9)) }, seeing("read", policy.DenialOthers), spec.MaxSighted},
		{"long ones", 2000, func(i int) spec.Sighting {
			return seeing("read", fmt.Sprint("/", i, "/", strings.Repeat("x", 4000)))
		}, seeing("read", policy.DenialOthers), 0},
		{"no paths", 20000, func(i int) spec.Sighting {
			return spec.Sighting{Axis: policy.AxisProcess, Operation: "execute", Target: "/x", Arguments: fmt.Sprint(i)}
		}, spec.Sighting{Axis: policy.AxisProcess, Operation: "execute", Target: policy.DenialOthers}, spec.MaxSighted},
	} {
		var l sightings
		var all []spec.Sighting
		for i := range c.n {
			all = append(all, c.make(i))
		}
		for _, s := range all {
			l.add(s)
		}
		if len(l.seen) > spec.MaxSighted+2 || len(l.in) > spec.MaxSighted || l.bytes > spec.MaxSightedBytes {
			t.Errorf("%s: %d, %d, %d bytes are kept", c.what, len(l.seen), len(l.in), l.bytes)
		}
		l = sightings{}
		got := counted(&l, all...)
		sum := 0
		for _, n := range got {
			sum += n
		}
		if rest := got[c.where]; sum != c.n || rest == 0 || c.apart > 0 && (rest < c.n-c.apart || rest > c.n-c.apart/2) {
			t.Errorf("%s: %d of %d are counted, %d as %v, %d apart", c.what, sum, c.n, rest, c.where, len(got)-1)
		}
	}
}
