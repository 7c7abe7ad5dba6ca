package confine

import (
	"errors"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// forkIntoCgroup forks the supervisor process into a cgroup of its own if the launcher can make
// one. So no process of the jail was ever outside that cgroup. To move a process later is slow.
func (p *starter) forkIntoCgroup(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	parent := cgroup.Locate().Parent
	if parent == "" {
		return syscall.ForkExec(path, argv, attr)
	}
	g, err := cgroup.New(parent)
	if err != nil {
		return syscall.ForkExec(path, argv, attr) // limitCgroup returns an error if the plan counts on a cgroup
	}
	attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, g.Fd
	pid, err = syscall.ForkExec(path, argv, attr)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		// A container's filter hides clone3, or the kernel is older than 5.7. If the error has
		// another cause, the second fork fails too.
		attr.Sys.UseCgroupFD = false
		if pid, err = syscall.ForkExec(path, argv, attr); err == nil && g.Adopt(pid) != nil {
			g.Remove()
			return pid, nil
		}
	}
	if err != nil {
		g.Remove()
		return 0, err
	}
	p.cgroup = g
	return pid, nil
}

// limitCgroup enforces the limits of a plan before the supervisor gets the spec. A plan that
// counts on a cgroup is not carried out without one.
func (p *starter) limitCgroup(plan *planpkg.Plan) (err error) {
	defer func() {
		if err != nil {
			err = &step.Error{Step: "cgroup", Detail: err.Error()}
		}
	}()
	process, place := p.process, plan.Cgroup
	limits := cgroup.LimitsOf(plan.Spec.Limits, p.hostNamespaces)
	switch {
	case place.Manager != "":
		if p.cgroup, err = cgroup.MakeScope(place, process.pid, limits); err != nil {
			return err
		}
	case place.Parent == "":
		return nil
	case p.cgroup == nil:
		return step.On("mcp-jail could make none below "+place.Parent, unix.EPERM)
	default:
		if err := p.cgroup.Limit(limits); err != nil {
			return err
		}
	}
	if !p.cgroup.Contains(process.pid) {
		return step.On("the jail's supervisor process is not in "+p.cgroup.Dir, step.ErrNotEnforced)
	}
	process.mu.Lock()
	process.cgroup, process.limits = p.cgroup, plan.Spec.Limits
	process.mu.Unlock()
	return nil
}

// limitCgroupLate is limitCgroup for a jail that has more than one process already. A service
// manager cannot move all of them into a scope, so then the jail is built again.
func (p *starter) limitCgroupLate(plan *planpkg.Plan) error {
	if plan.Cgroup.Manager != "" {
		return errNotInCgroup
	}
	return p.limitCgroup(plan)
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

// leaveCgroup removes the jail's cgroup after the jail has ended. It also removes the cgroups
// that killed launchers have left behind.
func (p *starter) leaveCgroup() {
	p.process.mu.Lock()
	p.process.lookIntoCgroup()
	p.process.cgroup = nil
	p.process.mu.Unlock()
	if p.cgroup != nil {
		p.cgroup.Remove()
		p.cgroup = nil // if the jail is built again, it gets another
	}
	if parent := cgroup.Locate().Parent; parent != "" {
		cgroup.Sweep(parent)
	}
}
