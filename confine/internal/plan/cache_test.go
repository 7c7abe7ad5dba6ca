package plan_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanCache: a plan that was kept is used for an equal profile, also of another tool, and equal facts. After any
// change the plan is the one that is compiled afresh.
func TestPlanCache(t *testing.T) {
	var c plan.Cache
	first := c.Compile(plantest.Profile(), plantest.Kernel(), plan.Watching{})
	other := plantest.Profile()
	other.Tool = "other"
	again := c.Compile(other, plantest.Kernel(), plan.Watching{})
	if &first.Spec.Seccomp[0] != &again.Spec.Seccomp[0] {
		t.Error("the kept plan is not used")
	}
	if again.Profile != other {
		t.Error("the plan is not that of the given profile")
	}
	for what, change := range map[string]func(*policy.Profile, *features.Facts, *plan.Watching){
		"a mask": func(p *policy.Profile, _ *features.Facts, _ *plan.Watching) {
			p.Entries = slices.Delete(slices.Clone(p.Entries), 1, 2)
		},
		"a variable":          func(p *policy.Profile, _ *features.Facts, _ *plan.Watching) { p.Env = nil },
		"a limit":             func(p *policy.Profile, _ *features.Facts, _ *plan.Watching) { p.Limits.Processes = 7 },
		"the program":         func(p *policy.Profile, _ *features.Facts, _ *plan.Watching) { p.Program = "/usr/bin/other" },
		"the ABI of Landlock": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) { f.LandlockABI = 3 },
		"a part of /proc is masked": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) {
			f.FreshProc = features.Unavailable("masked", "")
		},
		"no user notification": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) {
			f.SeccompNotify = features.Unavailable("no", "")
		},
		"a device": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) { f.Devices = f.Devices[:1] },
		"an overlay": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) {
			f.HomeCopy = &features.Feature{}
		},
		"no user namespaces": func(_ *policy.Profile, f *features.Facts, _ *plan.Watching) {
			f.UserNamespaces = features.Unavailable("no", "")
		},
		"watched": func(_ *policy.Profile, _ *features.Facts, w *plan.Watching) { w.Reads = true },
	} {
		for _, p := range []*policy.Profile{plantest.Profile(), nil} { // a profile of its own, and one that is changed
			var c plan.Cache
			kept := plantest.Profile()
			if p == nil {
				p = kept
			}
			f, w := plantest.Kernel(), plan.Watching{}
			c.Compile(kept, f, w)
			change(p, &f, &w)
			if !reflect.DeepEqual(c.Compile(p, f, w), plan.Compile(p, f, w)) {
				t.Errorf("%s: the plan is an older one", what)
			}
		}
	}
}

// TestPlanCacheGaps: what a launcher decides about the gaps of its plan holds for no other.
func TestPlanCacheGaps(t *testing.T) {
	var c plan.Cache
	f := plantest.Kernel()
	f.LandlockABI, f.Landlock = 0, features.Unavailable("no", "")
	for range 3 {
		p := c.Compile(plantest.Profile(), f, plan.Watching{})
		if len(p.Gaps) == 0 || p.Gaps[0].Waived {
			t.Fatalf("gaps %+v", p.Gaps)
		}
		p.Gaps[0].Waived = true
	}
}
