package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanUndo: what is kept passes the supervisor, attributes too, and without a supervisor undo is
// a gap.
func TestPlanUndo(t *testing.T) {
	for name, change := range map[string]func(*features.Facts){"namespaces": func(*features.Facts) {}, "host namespaces": refuseNamespaces} {
		p, f := plantest.Profile(), plantest.Kernel()
		change(&f)
		off := Compile(p, f, Watching{}).Spec
		p.Undo = policy.Undo{Mode: policy.UndoCall, TotalMB: 5000}
		plan := Compile(p, f, Watching{})
		if want := (spec.Keep{On: true, PerCall: true, TotalMB: min(5000, p.Limits.FileSizeMB)}); plan.Spec.Keep != want || off.Keep.On {
			t.Errorf("%s: %+v, want %+v", name, plan.Spec.Keep, want)
		}
		if len(plan.Spec.ListenerFilter) < len(off.ListenerFilter) || name == "namespaces" && len(plan.Spec.ListenerFilter) == len(off.ListenerFilter) {
			t.Errorf("%s: changes of attributes are not mediated", name)
		}
		isUndo := func(g Gap) bool { return g.Axis == policy.AxisFs && strings.HasPrefix(g.What, "undo:") }
		if slices.ContainsFunc(plan.Gaps, isUndo) {
			t.Errorf("%s: there is a gap", name)
		}
		f.SeccompNotify = features.Unavailable("left out", "")
		plan = Compile(p, f, Watching{})
		if plan.Spec.Keep.On || !slices.ContainsFunc(plan.Gaps, isUndo) {
			t.Errorf("%s, without a supervisor: %+v %+v", name, plan.Spec.Keep, plan.Gaps)
		}
	}
}
