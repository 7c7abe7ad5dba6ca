package egress

import (
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDenialsBounded checks that many refusals cannot hide one: the first and the latest ones
// stay on record, and the number of the others does.
func TestDenialsBounded(t *testing.T) {
	g, _ := testGateway(t, nil)
	g.denials.denyName("first.test", policy.DeniedNotGranted, "")
	const flood = 10_000
	for i := range flood {
		g.denials.denyName(fmt.Sprintf("n%d.test", i), policy.DeniedNotGranted, "")
	}
	all := g.Denials()
	testkit.Equal(t, "denials", len(all), maxDenials+1)
	found := map[string]policy.Denial{}
	total := 0
	for _, d := range all {
		found[d.Target] = d
		total += d.Count
	}
	for _, host := range []string{"first.test", fmt.Sprintf("n%d.test", firstDenials-2), fmt.Sprintf("n%d.test", flood-1), fmt.Sprintf("n%d.test", flood-firstDenials)} {
		testkit.Equal(t, fmt.Sprintf("%s is not on record", host), found[host].Count, 1)
	}
	if d := found["(others)"]; d.Reason != policy.DeniedLimit || d.Count != flood+1-maxDenials || total != flood+1 {
		t.Errorf("%+v, %d in all", d, total)
	}
	testkit.Equal(t, "the latest", all[len(all)-1].Target, fmt.Sprintf("n%d.test", flood-1))
}
