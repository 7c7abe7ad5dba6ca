package confine

import (
	"context"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/policy"
)

// What the tests of package confine_test see of this package beyond its face. They start jails by
// package jailtest, which imports this package.

var RefusedNamespaces = refusedNamespaces

// StartOther is Launcher.StartPlan with an init of the kind that the plan is not for.
func StartOther(ctx context.Context, p *Plan, stdio Stdio) (*Process, error) {
	return Launcher{}.claim(!p.Spec.HostNS).start(ctx, p, stdio)
}

// PID returns the process ID of the init, or 0 while there is none.
func (s *Prepared) PID() int { return s.process.PID() }

// ReplaceCgroup removes the cgroup of the init and lets it have this one.
func (s *Prepared) ReplaceCgroup(g *cgroup.Cgroup) {
	if s.cgroup != nil {
		s.cgroup.Remove()
	}
	s.cgroup = g
}

// Limit makes the limits those that the cgroup has to enforce once the supervisor runs.
func (s *Prepared) Limit(limits policy.Limits) {
	s.process.mu.Lock()
	defer s.process.mu.Unlock()
	s.process.cgroup, s.process.limits = s.cgroup, limits
}

// IsSupervised reports whether the supervisor runs.
func (p *Process) IsSupervised() bool { return p.isSupervised() }
