package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlanIgnoreCase: what an entry takes away in a directory that ignores case is a gap, but for names that the
// supervisor protects in every spelling.
func TestPlanIgnoreCase(t *testing.T) {
	p := plantest.Profile()
	entry := func(path string, kind policy.Kind, rights policy.Rights) {
		p.Entries = append(p.Entries, policy.Entry{Path: path, Named: path, Kind: kind, Rights: rights, Origin: policy.OriginRule, Rule: "path = " + path})
	}
	entry("/fold", policy.KindDir, policy.AllRights)
	entry("/fold/.git/config", policy.KindFile, policy.Read|policy.Execute)
	entry("/fold/hidden", policy.KindFile, 0)
	entry("/fold/run", policy.KindFile, policy.Read)
	entry("/fold/still", policy.KindFile, policy.Read|policy.Execute)
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	unasked := plantest.Kernel()
	unasked.SeccompNotify = features.Unavailable("left out", "")
	hostNS := plantest.Kernel()
	refuseNamespaces(&hostNS)
	config, hidden, run, still := "/fold/.git/config", "/fold/hidden", "/fold/run", "/fold/still"
	for _, c := range []struct {
		ignores []string
		f       features.Facts
		want    []string
	}{
		{nil, plantest.Kernel(), nil},
		{[]string{"/fold/other"}, plantest.Kernel(), nil},
		{[]string{"/fold"}, plantest.Kernel(), []string{hidden, run, still}},
		{[]string{"/fold"}, unasked, []string{config, hidden, run, still}},
		{[]string{"/fold"}, hostNS, []string{hidden, run, still}},
	} {
		p.IgnoreCase = c.ignores
		var got []string
		for _, g := range Compile(p, c.f, Watching{}).Gaps {
			if strings.Contains(g.Why, "ignores case") {
				got = append(got, g.Paths...)
			}
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.ignores, got, c.want)
		}
	}
}
