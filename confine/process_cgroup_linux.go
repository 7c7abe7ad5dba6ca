package confine

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// limitCgroup has the limits of a plan enforced before the supervisor gets the spec. A plan that
// counts on a cgroup is not carried out without one.
func (p *starter) limitCgroup(plan *planpkg.Plan) (err error) {
	if plan.Cgroup.None() {
		return nil
	}
	defer func() {
		if err != nil {
			err = &step.Error{Step: "cgroup", Detail: err.Error()}
		}
	}()
	process := p.process
	limits := cgroup.LimitsOf(plan.Spec.Limits, p.hostNamespaces)
	if p.cgroup, err = cgroup.MakeScope(plan.Cgroup, process.pid, limits); err != nil {
		return err
	}
	process.mu.Lock()
	process.cgroup, process.limits = p.cgroup, plan.Spec.Limits
	process.mu.Unlock()
	return nil
}

// superviseCgroup lowers the limit of processes to that of the plan, now that the supervisor
// runs. A jail for which that fails is ended. p.mu is held.
func (p *Process) superviseCgroup() {
	if p.cgroup == nil {
		return
	}
	exceeded, err := p.cgroup.Tighten(p.limits)
	if exceeded {
		p.denials = reported.LimitReached(p.denials, spec.KeyProcesses, "processes", p.limits.Processes, 0, "")
	}
	if err != nil {
		p.why = (&step.Error{Step: "cgroup", Detail: err.Error()}).Error()
		unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

func (p *starter) watchCgroup() (stop func()) {
	if p.process.cgroup == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.cgroup.Watch(quit, func() {
			p.process.mu.Lock()
			defer p.process.mu.Unlock()
			p.process.lookIntoCgroup()
		})
	}()
	return func() { close(quit); <-ended }
}

// lookIntoCgroup records new events of the cgroup. p.mu is held.
func (p *Process) lookIntoCgroup() {
	if p.cgroup == nil {
		return
	}
	memory, processes := p.cgroup.NewEvents()
	if memory {
		p.denials = reported.LimitReached(p.denials, spec.KeyMemory, "memory", p.limits.MemoryMB, 0, "")
	}
	if processes {
		p.denials = reported.LimitReached(p.denials, spec.KeyProcesses, "processes", p.limits.Processes, 0, "")
	}
}

// leaveCgroup ends what is left of the jail in its cgroup.
func (p *starter) leaveCgroup() {
	p.process.mu.Lock()
	p.process.lookIntoCgroup()
	p.process.cgroup = nil
	p.process.mu.Unlock()
	if p.cgroup != nil {
		p.cgroup.End()
		p.cgroup = nil // if the jail is built again, it gets another
	}
}
