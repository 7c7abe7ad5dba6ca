package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// claimsCgroup reports whether a plan uses a cgroup.
func claimsCgroup(plan *planpkg.Plan) bool {
	return slices.ContainsFunc(plan.Enforced, func(e planpkg.Enforcement) bool {
		return e.Axis == policy.AxisLimits && strings.Contains(e.By, "scope of systemd")
	})
}

// withoutProc starts a plan in a jail without /proc, and so without a sampler: only the cgroup
// enforces the limit.
func withoutProc(t *testing.T, p *policy.Profile, what attacker.Attempt) *jailtest.Started {
	t.Helper()
	q := *p
	q.Argv = append(q.Argv[:1:1], jailtest.Args(t, []attacker.Attempt{what})...)
	f := kernel.Detect()
	f.FreshProc = kernel.Unavailable("the test has taken it away", "")
	plan := jailtest.Compile(&q, f)
	for _, g := range plan.Gaps {
		if g.Axis == policy.AxisLimits {
			t.Fatalf("%+v", g)
		}
	}
	out, w, err := os.Pipe()
	testkit.Must(t, err)
	defer w.Close()
	s := &jailtest.Started{T: t, Errs: &jailtest.Output{}}
	if s.Process, err = (confine.Launcher{}).StartPlan(t.Context(), plan, jail.Stdio{Out: w}); err != nil {
		t.Fatal(err)
	}
	s.Ends = func() { out.Close() }
	return s
}

// cgroupOf returns the directory of the cgroup of a process.
func cgroupOf(pid int) string {
	path, _ := kernel.CgroupPath(sys.ReadLine(fmt.Sprintf("/proc/%d/cgroup", pid)))
	return filepath.Join("/sys/fs/cgroup", path)
}

// TestJailCgroup: where the user's systemd gives scopes, the jail has one of its own, which enforces
// the limits alone and is gone after the end of the jail. Otherwise no plan has a cgroup.
func TestJailCgroup(t *testing.T) {
	jailtest.Needs(t)
	place := kernel.LocateCgroup()
	limits := policy.Limits{MemoryMB: 64, Processes: 40}
	plan, _ := confine.Launcher{}.Compile(limited(t, limits))
	if claimsCgroup(plan) == place.None() {
		t.Fatalf("place %+v, plan %+v", place, plan.Enforced)
	}
	if place.None() {
		t.Logf("no cgroup here: %s", place.Why)
		return
	}
	t.Run("is its own", func(t *testing.T) {
		s := jailtest.Begin(t, limited(t, limits), attacker.Try("wait"))
		defer s.Finish()
		defer s.Kill()
		dir := cgroupOf(s.PID())
		testkit.Equal(t, "memory.max", sys.ReadLine(filepath.Join(dir, "memory.max")), "67108864")
		testkit.Eventually(t, "a supervisor, and no room left over for it", func() bool {
			return sys.ReadLine(filepath.Join(dir, "pids.max")) == fmt.Sprint(40+spec.SupervisorThreads)
		})
		testkit.Eventually(t, "the supervisor, the init and the program in their cgroup", func() bool {
			return len(strings.Fields(sys.ReadLine(filepath.Join(dir, "cgroup.procs")))) == 3
		})
		if own, _ := kernel.CgroupPath(sys.ReadLine("/proc/self/cgroup")); strings.Contains(own, kernel.CgroupName) {
			t.Errorf("the launcher is in %s itself", own)
		}
		t.Cleanup(func() {
			testkit.Eventually(t, "the end of "+dir, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) })
		})
	})
	for _, what := range []attacker.Attempt{
		attacker.Try("allocate", "200"), attacker.Try("allocate-shared", "200"), attacker.Try("allocate-memfd", "200"), attacker.Try("allocate-sysv", "200"),
		attacker.Try("allocate-pages", "100000"), attacker.Try("fill-both", "60"),
	} {
		t.Run("alone/"+what[0], func(t *testing.T) {
			t.Parallel()
			s := withoutProc(t, limited(t, limits), what)
			s.Finish()
			if d := denied(s.Process, "memory"); d.Target != "memory_mb = 64" || d.PID != 0 {
				t.Errorf("denials %+v", s.Denials())
			}
		})
	}
	t.Run("alone/fork", func(t *testing.T) {
		t.Parallel()
		s := withoutProc(t, limited(t, limits), attacker.Try("fork-wait", "400"))
		s.Finish()
		testkit.Equal(t, fmt.Sprintf("denials %+v", s.Denials()), denied(s.Process, "processes").Target, "processes = 40")
	})
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		s := withoutProc(t, limited(t, policy.Limits{MemoryMB: 512, Processes: 400}), attacker.Try("fork-wait", "100"))
		s.Finish()
		testkit.Empty(t, "denials", s.Denials())
	})
}

// TestJailCgroupIsOutOfReach: a server that may read the cgroups can neither change nor leave
// its own. If it may write there, the plan does not promise that.
func TestJailCgroupIsOutOfReach(t *testing.T) {
	jailtest.Needs(t)
	place := kernel.LocateCgroup()
	if place.None() {
		t.Logf("no cgroup here: %s", place.Why)
		return
	}
	for _, rights := range []policy.Rights{policy.Read, rw} {
		t.Run("with "+rights.String(), func(t *testing.T) {
			p := limited(t, policy.Limits{MemoryMB: 500, Processes: 200}, jailtest.Grant{Path: place.Root, Rights: rights})
			plan, _ := confine.Launcher{Waive: []policy.Axis{policy.AxisLimits}}.Compile(p)
			testkit.Equal(t, fmt.Sprintf("%+v", plan.Enforced), claimsCgroup(plan), (rights == policy.Read))
			if rights != policy.Read {
				return
			}
			s := jailtest.Begin(t, p, attacker.Try("wait"))
			dir := cgroupOf(s.PID())
			s.Kill()
			s.Finish()
			// The next jail of this launcher has the next number.
			var n int
			fmt.Sscanf(filepath.Ext(strings.TrimSuffix(dir, ".scope")), ".%d", &n)
			next := filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s%d.%d.scope", kernel.CgroupName, os.Getpid(), n+1))
			got := jailtest.Attempts(t, p,
				attacker.Try("read", next+"/pids.max"), attacker.Try("write", next+"/memory.max"), attacker.Try("write", next+"/cgroup.procs"),
				attacker.Try("write", place.Root+"/cgroup.procs"), attacker.Try("mkdir", next+"/sub"), attacker.Try("mkdir", place.Root+"/sub"), attacker.Try("rmdir", next))
			if !strings.HasPrefix(string(got[0]), "ok") {
				t.Errorf("the control, reading %s: %s", next, got[0])
			}
			for i, o := range got[1:] {
				if o != "EACCES" && o != "EROFS" {
					t.Errorf("attempt %d: %s", i+1, o)
				}
			}
		})
	}
}
