package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCgroupIsNotForItsServer: where a rule lets the server write to the cgroups,
// they limit nothing.
func TestCgroupIsNotForItsServer(t *testing.T) {
	at := func(path string, r policy.Rights) *policy.Profile {
		return &policy.Profile{Entries: []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: r}}, Limits: policy.DefaultLimits}
	}
	const rw = policy.Read | policy.Write
	for _, c := range []struct {
		place cgroup.Location
		p     *policy.Profile
		want  bool
	}{
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, at("/home/u", rw), false},
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, at("/sys/fs/cgroup", policy.Read), false},
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, at("/sys/fs/cgroup", rw), true},
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, at("/", rw), true},
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, at("/sys/fs/cgroup/a", policy.Update), true},
		{cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}, at("/sys", policy.Update), true},
		{cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}, at("/run", rw), true},
		{cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}, at("/run", policy.Read), true}, // which is enough to connect
		{cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}, at("/sys", policy.Read), false},
	} {
		f := features.Facts{Supported: true, UID: 1000, Cgroup: c.place}
		plan := Compile(c.p, f, Watching{})
		claims := slices.ContainsFunc(plan.Enforced, func(e Enforcement) bool {
			return e.Axis == policy.AxisLimits && (strings.Contains(e.By, "cgroup (") || strings.Contains(e.By, "scope of systemd"))
		})
		if c.place.Writable(c.p) != c.want || claims == c.want || plan.Cgroup.None() != c.want {
			t.Errorf("%+v with %+v: writable %v, claimed %v, used %+v", c.place, c.p.Entries, c.place.Writable(c.p), claims, plan.Cgroup)
		}
	}
}

// TestScopeIsAskedForWhereItMatters: it takes time.
func TestScopeIsAskedForWhereItMatters(t *testing.T) {
	scope := cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}
	for _, c := range []struct {
		place  cgroup.Location
		limits policy.Limits
		proc   features.Answer
		want   bool
	}{
		{scope, policy.DefaultLimits, features.Yes, false},
		{scope, policy.DefaultLimits, features.No, true},
		{scope, policy.Limits{MemoryMB: 100, Processes: policy.DefaultLimits.Processes}, features.Yes, true},
		{scope, policy.Limits{MemoryMB: policy.DefaultLimits.MemoryMB, Processes: 10}, features.Yes, true},
		{cgroup.Location{Parent: "/sys/fs/cgroup"}, policy.DefaultLimits, features.Yes, true},
	} {
		f := features.Facts{Supported: true, UID: 1000, Cgroup: c.place}
		f.UserNamespaces, f.FreshProc = features.Available(""), features.Feature{Answer: c.proc}
		if plan := Compile(&policy.Profile{Limits: c.limits}, f, Watching{}); plan.Cgroup.None() == c.want {
			t.Errorf("%+v: %+v", c, plan.Cgroup)
		}
	}
}
