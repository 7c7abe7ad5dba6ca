package plan

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp/bpftest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanWatch: only a jail that records refused reads has the filter that hands over each open. Where no call
// is mediated, that is a gap which cannot be waived.
func TestPlanWatch(t *testing.T) {
	isWatch := func(g Gap) bool { return g.Fatal && strings.HasPrefix(g.What, "to record each blocked read") }
	for name, change := range map[string]func(*kernel.Facts){"namespaces": func(*kernel.Facts) {}, "host namespaces": refuseNamespaces} {
		p, f := plantest.Profile(), plantest.Kernel()
		change(&f)
		// Without namespaces, hidden entries have reads decided anyway.
		p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return e.Rights == 0 })
		off := Compile(p, f, Watching{})
		on := Compile(p, f, Watching{Reads: true})
		if off.WatchesReads || !on.WatchesReads || !off.CanWatch() || !on.CanWatch() {
			t.Errorf("%s: %v and %v", name, off.WatchesReads, on.WatchesReads)
		}
		if handsOverReads(t, off) || !handsOverReads(t, on) {
			t.Errorf("%s: the filter hands reads over: %v, watched: %v", name, handsOverReads(t, off), handsOverReads(t, on))
		}
		on.WatchesReads, on.Spec.ListenerFilter = false, off.Spec.ListenerFilter
		testkit.Equal(t, fmt.Sprintf("%s: the plan differs in more than the filter", name), planText(on), planText(off))
		without := f
		without.SeccompNotify = kernel.Unavailable("left out", "")
		if plan := Compile(p, without, Watching{Reads: true}); !slices.ContainsFunc(plan.Gaps, isWatch) || plan.CanWatch() || plan.WatchesReads {
			t.Errorf("%s, without a supervisor: %+v", name, plan.Gaps)
		}
		if slices.ContainsFunc(Compile(p, without, Watching{}).Gaps, isWatch) {
			t.Errorf("%s: a jail that is not watched has the gap", name)
		}
	}
	for _, reads := range []bool{false, true} {
		if plan := Compile(plantest.Profile(), plantest.Mac(), Watching{Reads: reads}); slices.ContainsFunc(plan.Gaps, isWatch) != reads || plan.CanWatch() {
			t.Errorf("on macOS, %t: %+v", reads, plan.Gaps)
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
	verdict := testkit.Get(bpftest.VM(t, prog).Run(call))(t)
	return uint32(verdict) == 0x7fc00000 // SECCOMP_RET_USER_NOTIF
}
