package egress

import (
	"fmt"
	"testing"

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
	if len(all) != maxDenials+1 {
		t.Errorf("%d denials", len(all))
	}
	found := map[string]policy.Denial{}
	total := 0
	for _, d := range all {
		found[d.Target] = d
		total += d.Count
	}
	for _, host := range []string{"first.test", fmt.Sprintf("n%d.test", firstDenials-2), fmt.Sprintf("n%d.test", flood-1), fmt.Sprintf("n%d.test", flood-firstDenials)} {
		if found[host].Count != 1 {
			t.Errorf("%s is not on record", host)
		}
	}
	if d := found["(others)"]; d.Reason != policy.DeniedLimit || d.Count != flood+1-maxDenials || total != flood+1 {
		t.Errorf("%+v, %d in all", d, total)
	}
	if d := all[len(all)-1]; d.Target != fmt.Sprintf("n%d.test", flood-1) {
		t.Errorf("the latest is %s", d.Target)
	}
}
