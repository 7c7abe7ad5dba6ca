package observed

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestReport: what the jail lacks and the host has is refused. What both lack is absent.
func TestReport(t *testing.T) {
	defer func(usual time.Duration) { lookupTimeout = usual }(lookupTimeout)
	lookupTimeout = time.Minute
	here := t.TempDir()
	p := &plan.Plan{Profile: &policy.Profile{Entries: []policy.Entry{{Path: "/copy", Kind: policy.KindDir, Ephemeral: true}}}}
	p.Spec.Home = "/home/own"
	none := filepath.Join(here, "none")
	for _, c := range []struct {
		operation, target          string
		seen                       spec.Seen
		refused, absent, discarded bool
	}{
		{policy.OpRead.String(), here, spec.SeenRefused | spec.SeenAbsent, true, false, false},
		{policy.OpRead.String(), none, spec.SeenRefused | spec.SeenAbsent, false, true, false},
		{policy.OpCreate.String(), none, spec.SeenRefused | spec.SeenAbsent, true, true, false},
		{policy.OpRead.String(), none, spec.SeenRefused, true, false, false},
		{policy.OpWrite.String(), "/copy/a", 0, false, false, true},
		{policy.OpWrite.String(), "/home/own/a", 0, false, false, true},
		{policy.OpRead.String(), "/copy/a", 0, false, false, false},
		{policy.OpWrite.String(), "/copies", 0, false, false, false},
	} {
		var got policy.Observation
		New(func(o policy.Observation) { got = o }).Report(spec.Event{Kind: spec.EventObserved, Step: string(policy.AxisFs), Detail: c.operation, Target: c.target, Seen: c.seen}, p)
		if got.Refused != c.refused || got.Absent != c.absent || got.Discarded != c.discarded {
			t.Errorf("%s %s: %+v", c.operation, c.target, got)
		}
	}
	if New(nil) != nil {
		t.Error("an observer without a function")
	}
}
