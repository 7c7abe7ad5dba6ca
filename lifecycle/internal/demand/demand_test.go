package demand

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDemand: for each profile as many jails are prepared as calls under it have waited at once, not during
// calls, and not for long. Tools of equal profiles share them. A profile that its tool no longer has gets none.
func TestDemand(t *testing.T) {
	var s Demand
	at := time.Unix(1e9, 0)
	profiles := map[rune]*policy.Profile{
		'a': {Tool: "a", Dir: "/1"}, 'b': {Tool: "b", Dir: "/1"}, 'c': {Tool: "c", Dir: "/2"}, 'C': {Tool: "c", Dir: "/3"},
	}
	for _, tool := range "defghijk" {
		profiles[tool] = &policy.Profile{Tool: string(tool), Dir: "/" + string(tool)}
	}
	name := func(p *policy.Profile) string { return p.Dir[1:] }
	for _, c := range []struct {
		what  string
		calls string
		after time.Duration
		most  int
		want  string
		ok    bool
	}{
		{"no call yet", "", 0, 6, "", true},
		{"three at once", "aab", 0, 6, "111", false},
		{"soon after them", "", After, 6, "111", true},
		{"one call", "a", After, 6, "111", true},
		{"two under another profile", "cc", After, 6, "22111", true},
		{"more than may be", "bbbbb", After, 6, "111112", true},
		{"its tool has another profile", "C", After, 9, "311111", true},
		{"more profiles than are compared", "defghijk", After, 9, "kjihgfed", true},
		{"long after it", "", preparedFor, 6, "", true},
		{"one call later", "a", After, 6, "1", true},
	} {
		var ends []func()
		for _, tool := range c.calls {
			ends = append(ends, s.Begin(profiles[tool], at))
		}
		for _, end := range ends {
			end()
		}
		at = at.Add(c.after)
		got, ok := s.Wanted(at, c.most)
		var names []string
		for _, p := range got {
			names = append(names, name(p))
		}
		if strings.Join(names, "") != c.want && ok || ok != c.ok {
			t.Errorf("%s: %v %t, want %s %t", c.what, names, ok, c.want, c.ok)
		}
		at = at.Add(time.Millisecond)
	}
}
