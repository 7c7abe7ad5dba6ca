package integration

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fileTable has attempts made, each in a tree and a jail of its own.
type fileTable struct {
	tree    []string
	profile func(dir string) *policy.Profile
	in      func(testing.TB, *policy.Profile, ...attacker.Attempt) []attacker.Outcome
}

// fileRow is an attempt in DIR, and its outcome in the jail: whole, or the first word if want is one word.
// Unconfined it succeeds, but if uncontrolled is set.
type fileRow struct {
	attempt, want string
	uncontrolled  bool
}

// check makes the attempts. One that is refused leaves the host's tree as it was.
func (c fileTable) check(t *testing.T, rows []fileRow) {
	for _, row := range rows {
		t.Run(row.attempt, func(t *testing.T) {
			t.Parallel()
			in := func(dir string) attacker.Attempt { return strings.Fields(strings.ReplaceAll(row.attempt, "DIR", dir)) }
			if !row.uncontrolled {
				free := testkit.Plant(t, c.tree...)
				got, _, _ := strings.Cut(jailtest.Unconfined(t, free, in(free))[0], " ")
				jailtest.Expect(t, "unconfined", got, attacker.Succeeded)
			}
			dir := testkit.Plant(t, c.tree...)
			before := jailtest.HostTree(t, dir)
			got := c.in(t, c.profile(dir), in(dir))[0]
			first, _, _ := strings.Cut(got, " ")
			if !strings.Contains(row.want, " ") {
				got = first
			}
			jailtest.Expect(t, "in the jail", got, row.want)
			if after := jailtest.HostTree(t, dir); first != attacker.Succeeded && after != before {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
		})
	}
}
