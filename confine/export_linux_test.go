package confine

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/policy"
)

// What the tests of package confine_test see of this package beyond its face. They start jails by
// package jailtest, which imports this package.

// StartOther is Launcher.StartPlan with a supervisor process of the kind that the plan is not for.
func StartOther(ctx context.Context, p *Plan, stdio Stdio) (*Process, error) {
	return Launcher{}.spawn(!p.Spec.HostNS).start(ctx, p, stdio, Launcher{})
}

// RefusedNamespaces is what is said of a step that failed.
var RefusedNamespaces = refusedNamespaces

// Waiting returns what a prepared process has before a start uses it.
func (p *Prepared) Waiting() *starter { return p.starter.Load() }

// PID returns the process ID of the supervisor process, or 0 while there is none.
func (p *starter) PID() int { return p.process.PID() }

// ReplaceCgroup lets the jail have a cgroup.
func (p *starter) ReplaceCgroup(g *kernel.Cgroup) { p.cgroup = g }

// Limit makes the limits those that the cgroup must enforce once the supervisor runs.
func (p *starter) Limit(limits policy.Limits) {
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	p.process.cgroup, p.process.limits = p.cgroup, limits
}

// IsSupervised reports whether the supervisor runs.
func (p *Process) IsSupervised() bool { return p.isSupervised() }

// RunTLS is Launcher.runTLS.
var RunTLS = Launcher.runTLS

// StartsAs is Launcher.startsAs.
func StartsAs(l, other Launcher) bool { return l.startsAs(other) }

// NewPool is Launcher.NewPool also on a small host. The pool does not look at the host's mounts, which other tests
// change meanwhile: it would drop its jails. TestPreparedAndMounts is about that.
func NewPool(l Launcher) *PreparedPool {
	s := l.newPool()
	unix.Close(s.mounts)
	s.mounts = -1
	return s
}

// IsBuilt reports whether each jail was built for its profile and waits for the files of the server.
func (s *PreparedPool) IsBuilt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.ready, func(j *spare) bool { return !isClosed(j.over) || j.failed })
}

// PIDs returns the process IDs of the supervisor processes, or 0 for one that is being started.
func (s *PreparedPool) PIDs() (pids []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ready {
		pids = append(pids, p.PID())
	}
	return pids
}
