package supervisor

import (
	"runtime"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediate"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// superviseJail does what a supervisor does, and does not return.
func superviseJail() {
	proc.Dir, proc.DirFD = ".", spec.ProcFD
	s := newShim()
	s.pidfd, s.Making = spec.ServerFD, spec.MakingFD
	for _, step := range []jail.BuildStep{
		{Name: sys.StepPoller, By: s.Init, Run: sys.CheckPoller},
		{Name: "parent", By: s.Init, Run: s.bindToLauncher},
		{Name: "order", By: s.Init, Run: func() error { return s.takeOrder(spec.StatusFD) }},
		{Name: "limits", By: s.Init, Run: s.limitSelf},
	} {
		if err := step.Run(); err != nil {
			s.fail(jail.WrapStep(step.Name, err))
		}
	}
	s.makeThreads()
	s.Say(spec.Message{Kind: spec.SaysHere})
	if len(s.Order.Hooks) > 0 {
		s.supervisor = mediate.NewSupervisor(s.supervision())
		s.supervisor.Listener, s.supervisor.Running = spec.ListenerFD, true
		close(s.supervisor.Open)
	}
	close(s.watch)
	go s.outliveNobody()
	runtime.UnlockOSThread()
	s.passSignals(0)
}

// outliveNobody ends the supervisor when the jail's init has ended, its only child. The
// launcher, which hears of the server's end from the init, would wait for ever.
func (s *Shim) outliveNobody() {
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != syscall.EINTR {
			s.isOver()
		}
	}
}

// bindToLauncher has the kernel kill the jail when the launcher dies, and checks that it
// was not too late to ask (prctl(2), PR_SET_PDEATHSIG). The launcher is in another PID
// namespace, so its death shows at the other end of the socket, not in getppid.
func (s *Shim) bindToLauncher() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

// limitSelf keeps to the limits of what the supervisor makes in the server's place.
func (s *Shim) limitSelf() error {
	for resource, value := range map[int]int{unix.RLIMIT_CORE: 1, unix.RLIMIT_FSIZE: s.Order.Limits.FileSizeMB << 20} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(resource, &old); err != nil {
			return err
		}
		if value <= 0 {
			continue
		}
		limit := min(uint64(value), old.Max)
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return err
		}
	}
	return nil
}
