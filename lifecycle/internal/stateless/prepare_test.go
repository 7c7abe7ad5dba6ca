//go:build unix

package stateless

import (
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPrepare: for each profile as many jails are prepared as calls under it have waited at once, not during
// calls, and not for long. Tools of equal profiles share them. A profile that its tool no longer has gets none.
func TestPrepare(t *testing.T) {
	t.Parallel()
	got := "none"
	s := idleSession(t, session.Session{}, Options{MaxCalls: 6, Prepare: func(profiles []*policy.Profile) {
		got = ""
		for _, p := range profiles {
			got += p.Dir[1:]
		}
	}})
	at := time.Unix(1e9, 0)
	profiles := map[rune]*policy.Profile{
		'a': {Tool: "a", Dir: "/1"}, 'b': {Tool: "b", Dir: "/1"}, 'c': {Tool: "c", Dir: "/2"}, 'C': {Tool: "c", Dir: "/3"},
	}
	for _, tool := range "defghijk" {
		profiles[tool] = &policy.Profile{Tool: string(tool), Dir: "/" + string(tool)}
	}
	for _, c := range []struct {
		what  string
		calls string
		after time.Duration
		want  string
	}{
		{"no call yet", "", 0, ""},
		{"three at once", "aab", 0, "none"},
		{"soon after them", "", prepareAfter, "111"},
		{"one call", "a", prepareAfter, "111"},
		{"two under another profile", "cc", prepareAfter, "22111"},
		{"more than may be", "bbbbb", prepareAfter, "111112"},
		{"its tool has another profile", "C", prepareAfter, "311111"},
		{"more profiles than calls", "defghijk", prepareAfter, "kjihgf"},
		{"long after it", "", preparedFor, ""},
		{"one call later", "a", prepareAfter, "1"},
	} {
		var ends []func()
		for _, tool := range c.calls {
			ends = append(ends, s.pool.beginCall(profiles[tool], at))
		}
		if got = "none"; len(ends) > 0 {
			s.pool.prepare(at.Add(prepareAfter))
		}
		if got != "none" {
			t.Errorf("%s: jails are prepared while a call waits", c.what)
		}
		for _, end := range ends {
			end()
		}
		at = at.Add(c.after)
		s.pool.prepare(at)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		at = at.Add(time.Millisecond)
	}
	if n := len(s.pool.demands); n > maxDemands {
		t.Errorf("%d profiles are compared for each call", n)
	}
}
