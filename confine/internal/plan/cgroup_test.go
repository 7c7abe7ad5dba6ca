package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/policy"
)

var scope = cgroup.Location{Manager: "/run/s", Root: "/sys/fs/cgroup/u"}

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
		{scope, at("/home/u", rw), false},
		{scope, at("/sys/fs/cgroup", policy.Read), false},
		{scope, at("/sys/fs/cgroup", rw), true},
		{scope, at("/", rw), true},
		{scope, at("/sys/fs/cgroup/u/a", policy.Update), true},
		{scope, at("/sys", policy.Update), true},
		{scope, at("/run", rw), true},
		{scope, at("/run", policy.Read), true}, // which is enough to connect
		{scope, at("/sys", policy.Read), false},
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
	preset := policy.DefaultLimits
	for _, c := range []struct {
		limits           policy.Limits
		namespaces, proc bool
		want             bool
	}{
		{preset, true, true, false},
		{preset, true, false, true}, // the memory cannot be sampled
		{preset, false, true, true}, // nothing else holds processes
		{policy.Limits{MemoryMB: 100, Processes: preset.Processes}, true, true, true},
		{policy.Limits{MemoryMB: preset.MemoryMB, Processes: 10}, true, true, true},
	} {
		f := features.Facts{Supported: true, UID: 1000, Cgroup: scope, ReadsProc: c.proc}
		f.UserNamespaces, f.FreshProc = features.Unavailable("", ""), features.Unavailable("", "")
		if c.namespaces {
			f.UserNamespaces = features.Available("")
		}
		if c.proc {
			f.FreshProc = features.Available("")
		}
		plan := Compile(&policy.Profile{Limits: c.limits}, f, Watching{})
		gap := slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return strings.HasPrefix(g.What, "processes") })
		if plan.Cgroup.None() == c.want || gap {
			t.Errorf("%+v: %+v, gap %v", c, plan.Cgroup, gap)
		}
	}
}
