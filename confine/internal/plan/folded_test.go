package plan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanFolded: if another spelling of a name bypasses its mount and the supervisor does
// not decide the call either, the plan has a gap that names the path.
func TestPlanFolded(t *testing.T) {
	profile := func(passed bool) *policy.Profile {
		p := plantest.Profile()
		entry := func(path string, rights policy.Rights) {
			p.Entries = append(p.Entries, policy.Entry{Path: path, Named: path, Kind: policy.KindFile, Rights: rights, Origin: policy.OriginRule, Rule: "path = " + path})
			p.Folded = append(p.Folded, policy.FoldedName{Path: path, ID: policy.FileID{Dev: 1, Ino: 2}, OtherSpelling: strings.ToUpper(path), BypassesMount: passed})
		}
		p.Entries = append(p.Entries, policy.Entry{Path: "/fold", Named: "/fold", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginRule, Rule: "path = /fold"})
		entry("/fold/hidden", 0)
		entry("/fold/run", policy.Read)
		entry("/fold/still", policy.Read|policy.Execute)
		slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		return p
	}
	gaps := func(p *policy.Profile, f features.Facts) (paths []string) {
		for _, g := range Compile(p, f, Watching{}).Gaps {
			paths = append(paths, g.Paths...)
		}
		return paths
	}
	unasked := plantest.Kernel()
	unasked.SeccompNotify = features.Unavailable("left out", "")
	hidden, run, still := "/fold/hidden (as /FOLD/HIDDEN)", "/fold/run (as /FOLD/RUN)", "/fold/still (as /FOLD/STILL)"
	for _, c := range []struct {
		passed bool
		f      features.Facts
		want   []string
	}{
		{false, plantest.Kernel(), nil},
		{true, plantest.Kernel(), []string{hidden, run}},
		{true, unasked, []string{hidden, run, still}},
	} {
		if got := gaps(profile(c.passed), c.f); !slices.Equal(got, c.want) {
			t.Errorf("passed by: %t: %v, want %v", c.passed, got, c.want)
		}
	}
	// The supervisor then decides changes of attributes, since no mount refuses them.
	with, without := Compile(profile(true), plantest.Kernel(), Watching{}).Spec, Compile(profile(false), plantest.Kernel(), Watching{}).Spec
	if len(with.ListenerFilter) <= len(without.ListenerFilter) || bytes.Equal(with.Seccomp, without.Seccomp) {
		t.Error("changes of modes, times and attributes are not mediated")
	}
	if !slices.Equal(with.Profile.Folded, profile(true).Folded) {
		t.Errorf("%v", with.Profile.Folded)
	}
}
