package report

import (
	"strings"
	"testing"
)

// TestCauseWithoutJail tests that a cause in which the jail has no part has no attribution.
func TestCauseWithoutJail(t *testing.T) {
	for attribution, want := range map[Attribution]string{None: "  cause: no disk\n", Likely: "  cause (likely): no disk\n"} {
		var b strings.Builder
		Diagnosis{What: "x", Attribution: attribution, Cause: "no disk"}.writeText(&b, "")
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q", attribution, b.String())
		}
	}
}
