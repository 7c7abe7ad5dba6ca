package supervisor

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediator"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// runInNamespaces runs the supervisor of a jail with namespaces. It does not return.
func runInNamespaces() {
	sys.Dir, sys.DirFD = ".", spec.ProcFD
	s := newProcess()
	s.pidfd, s.WorkerRuleset = spec.ServerFD, spec.RulesetFD
	running := make(chan struct{})
	go s.dieWithInit(running)
	for _, step := range []jail.Step{
		{Name: sys.StepPoller, Task: s.Init, Run: startPoller},
		{Name: "parent", Task: s.Init, Run: s.bindToLauncher},
		{Name: sys.Spec, Task: s.Init, Run: func() error { return s.takeSpec(spec.EventsFD) }},
		{Name: "limits", Task: s.Init, Run: func() error { return limitSelf(s.Spec.Limits) }},
	} {
		if err := step.Run(); err != nil {
			s.fail(jail.WrapStep(step.Name, err))
		}
	}
	// All threads exist before the server can use up the limit of threads.
	s.makeThreads()
	s.Send(spec.Event{Kind: spec.EventSupervisor})
	if len(s.Spec.ListenerFilter) > 0 {
		s.mediator = mediator.New(s.mediatorOptions())
		s.mediator.Running = true
		s.mediator.Serve(spec.ListenerFD)
	}
	close(s.watch)
	close(running)
	runtime.UnlockOSThread()
	s.passSignals()
}

// dieWithInit ends the supervisor when the jail's init, its only child, has ended. Otherwise
// the launcher would wait forever for the end of the events. It passes the stops of traced
// threads to the mediator. If the init ends before running is closed, the launcher may be waiting
// for that end, and never send the spec. So the supervisor then exits at once.
func (s *Process) dieWithInit(running <-chan struct{}) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if err == nil && pid != sys.JailInit { // traced, so there is a mediator
			<-running
			s.mediator.Stopped(pid, ws)
			continue
		}
		select {
		case <-running:
			s.shutDown()
		default:
			unix.Exit(0)
		}
	}
}

// bindToLauncher makes the kernel kill this process when the launcher dies (prctl(2),
// PR_SET_PDEATHSIG), and then checks that the launcher is still alive. The launcher is in
// another PID namespace, so its death shows in the socket and not in getppid.
func (s *Process) bindToLauncher() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

func limitSelf(l policy.Limits) error {
	for resource, value := range map[int]int{unix.RLIMIT_CORE: 1, unix.RLIMIT_FSIZE: l.FileSizeMB << 20} {
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
