package confine

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// forkIntoCgroup forks the jail's init inside of a cgroup of its own, where this
// process can make one: a process is born there, and nothing of the jail was ever
// anywhere else. Moving it later can take milliseconds, for every processor to take
// notice.
func (s *Shim) forkIntoCgroup(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	parent := cgroupHere().Parent
	if parent == "" {
		return syscall.ForkExec(path, argv, attr)
	}
	g, err := makeCgroup(parent)
	if err != nil {
		return syscall.ForkExec(path, argv, attr) // the plan finds out, if it counts on it
	}
	attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, g.fd
	pid, err = syscall.ForkExec(path, argv, attr)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		// A container's filter hides clone3, or the kernel is older than 5.7; or it is
		// something else, which then shows again.
		attr.Sys.UseCgroupFD = false
		if pid, err = syscall.ForkExec(path, argv, attr); err == nil && g.adopt(pid) != nil {
			g.remove()
			return pid, nil
		}
	}
	if err != nil {
		g.remove()
		return 0, err
	}
	s.cgroup = g
	return pid, nil
}

// limitCgroup puts the limits of a plan in force before the init is told what to
// do. A plan that counts on a cgroup is not carried out without.
func (s *Shim) limitCgroup(plan *Plan) (err error) {
	defer func() {
		if err != nil {
			err = &StartError{Step: "cgroup", Detail: err.Error()}
		}
	}()
	p, place := s.process, plan.place
	limits := cgroupLimitsOf(plan.order.Limits, s.kind == shimBare)
	switch {
	case place.Manager != "":
		if s.cgroup, err = makeScope(place, p.pid, limits); err != nil {
			return err
		}
	case place.Parent == "":
		return nil
	case s.cgroup == nil:
		return on("mcp-jail could make none below "+place.Parent, unix.EPERM)
	default:
		if err := s.cgroup.limit(limits); err != nil {
			return err
		}
	}
	if !s.cgroup.holds(p.pid) {
		return on("the jail's init is not in "+s.cgroup.dir, errHeldNot)
	}
	p.mu.Lock()
	p.cgroup, p.limits = s.cgroup, plan.order.Limits
	p.mu.Unlock()
	return nil
}

// limitLate is limitCgroup when there is more than one process. All of them are in a cgroup
// that we have made; around those that are there nobody else is asked to make one.
func (s *Shim) limitLate(plan *Plan) error {
	if plan.place.Manager != "" {
		return errBornElsewhere
	}
	return s.limitCgroup(plan)
}

// superviseCgroup has the cgroup hold as many as it is to, now that there is a supervisor.
// A jail for which that cannot be done ends. p is locked.
func (p *Process) superviseCgroup() {
	if p.cgroup == nil {
		return
	}
	exceeded, err := p.cgroup.supervise(p.limits)
	if exceeded {
		p.denials = limitReached(p.denials, keyProcesses, "processes", p.limits.Processes, 0, "")
	}
	if err != nil {
		p.why = (&StartError{Step: "cgroup", Detail: err.Error()}).Error()
		unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

// watchCgroup records what its limits ended and refused until the function that
// it returns is called.
func (s *Shim) watchCgroup() (stop func()) {
	if s.process.cgroup == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.cgroup.watch(quit, func() {
			s.process.mu.Lock()
			defer s.process.mu.Unlock()
			s.process.lookIntoCgroup()
		})
	}()
	return func() { close(quit); <-ended }
}

// lookIntoCgroup records what is new there. p is locked.
func (p *Process) lookIntoCgroup() {
	if p.cgroup == nil {
		return
	}
	memory, processes := p.cgroup.reached()
	if memory {
		p.denials = limitReached(p.denials, keyMemory, "memory", p.limits.MemoryMB, 0, "")
	}
	if processes {
		p.denials = limitReached(p.denials, keyProcesses, "processes", p.limits.Processes, 0, "")
	}
}

// leaveCgroup removes the jail's cgroup when the jail is gone, and those that
// killed launchers have left.
func (s *Shim) leaveCgroup() {
	s.process.mu.Lock()
	s.process.lookIntoCgroup()
	s.process.cgroup = nil
	s.process.mu.Unlock()
	if s.cgroup != nil {
		s.cgroup.remove()
		s.cgroup = nil // where the jail is built once more it has another
	}
	if parent := cgroupHere().Parent; parent != "" {
		sweepCgroups(parent)
	}
}
