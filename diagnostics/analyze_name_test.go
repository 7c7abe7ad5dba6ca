package diagnostics

import (
	"strings"
	"testing"
)

func TestUnsetVariable(t *testing.T) {
	ev := evidence("BAR_KEY environment variable is required")
	ev.Unset = []string{"BAR_KEY"}
	if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 || !strings.Contains(d.Cause, "granted but not set") {
		t.Errorf("%s", d.Text())
	}
}
