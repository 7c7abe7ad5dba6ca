package plan

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/net/bpf"
)

// TestPlanWatch: only a jail that is watched has the filter that hands over each open. Where no call
// is mediated, that is a gap which cannot be waived.
func TestPlanWatch(t *testing.T) {
	isWatch := func(g Gap) bool { return g.Fatal && strings.HasPrefix(g.What, "to watch") }
	for name, change := range map[string]func(*features.Facts){"namespaces": func(*features.Facts) {}, "host namespaces": refuseNamespaces} {
		p, f := plantest.Profile(), plantest.Kernel()
		change(&f)
		p.HiddenLater = nil // without namespaces, such a path and hidden entries have reads decided anyway
		p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return e.Rights == 0 })
		off := Compile(p, f, Watching{})
		for _, watch := range []spec.Watch{spec.WatchReads, spec.WatchAll} {
			on := Compile(p, f, Watching{Calls: watch})
			if off.Spec.Watch != spec.WatchNothing || on.Spec.Watch != watch || !off.CanWatch() || !on.CanWatch() {
				t.Errorf("%s: %v and %v", name, off.Spec.Watch, on.Spec.Watch)
			}
			if handsOverReads(t, off) || !handsOverReads(t, on) {
				t.Errorf("%s, %d: the filter hands reads over: %v, watched: %v", name, watch, handsOverReads(t, off), handsOverReads(t, on))
			}
			on.Spec.Watch, on.Spec.ListenerFilter = off.Spec.Watch, off.Spec.ListenerFilter
			if planText(on) != planText(off) {
				t.Errorf("%s, %d: the plan differs in more than the filter:\n%s", name, watch, planText(on))
			}
			without := f
			without.SeccompNotify = features.Unavailable("left out", "")
			if plan := Compile(p, without, Watching{Calls: watch}); !slices.ContainsFunc(plan.Gaps, isWatch) || plan.CanWatch() || plan.Spec.Watch != spec.WatchNothing {
				t.Errorf("%s, %d, without a supervisor: %+v", name, watch, plan.Gaps)
			}
			if slices.ContainsFunc(Compile(p, without, Watching{}).Gaps, isWatch) {
				t.Errorf("%s: a jail that is not watched has the gap", name)
			}
		}
	}
	for _, watch := range []spec.Watch{spec.WatchNothing, spec.WatchReads, spec.WatchAll} {
		if plan := Compile(plantest.Profile(), plantest.Mac(), Watching{Calls: watch}); slices.ContainsFunc(plan.Gaps, isWatch) != (watch != spec.WatchNothing) || plan.CanWatch() {
			t.Errorf("on macOS, %d: %+v", watch, plan.Gaps)
		}
	}
}

// handsOverReads reports whether the second filter of a plan passes an open that only reads to the
// supervisor.
func handsOverReads(t *testing.T, p *Plan) bool {
	t.Helper()
	var prog []bpf.RawInstruction
	for b := p.Spec.ListenerFilter; len(b) > 0; b = b[8:] {
		prog = append(prog, bpf.RawInstruction{Op: binary.LittleEndian.Uint16(b), Jt: b[2], Jf: b[3], K: binary.LittleEndian.Uint32(b[4:])})
	}
	nr, _ := seccomp.CallNumber(plantest.Kernel().Machine, "openat")
	call := make([]byte, 64) // struct seccomp_data, as the test's machine reads it: all zeros but number and architecture
	binary.BigEndian.PutUint32(call, nr)
	binary.BigEndian.PutUint32(call[4:], 0xc000003e) // AUDIT_ARCH_X86_64
	verdict, err := bpftest.VM(t, prog).Run(call)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(verdict) == 0x7fc00000 // SECCOMP_RET_USER_NOTIF
}
