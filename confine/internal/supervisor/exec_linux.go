package supervisor

import (
	"runtime/debug"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// startProgram executes the server and stays behind as its init.
//
// While this thread waits for the exec it keeps its place in Go's scheduler, and the
// supervisor has to answer that very exec. So there is room for others, and nothing
// that stops the world: the launcher starts the shim with runsAtOnce and the
// collector off.
func (s *Process) startProgram() {
	attr := &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL, // should the init be ended by force
		PidFD:     &s.pidfd,
	}
	unix.Umask(s.Umask)
	release := sys.ReserveFDTable()
	pid, err := syscall.ForkExec(s.Spec.Program, s.Spec.Argv, &syscall.ProcAttr{
		Env:   s.Spec.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attr,
	})
	release()
	if err != nil {
		s.fail(jail.WrapStep(step.Exec, step.On(s.Spec.Program, err)))
	}
	s.program <- pid
	s.sendEvent(spec.Event{Kind: spec.EventStarted, Pid: pid})
	debug.SetGCPercent(100)
	s.releaseStdio()
	close(s.watch)
	s.reap(pid)
}

// releaseStdio lets go of the server's three descriptors: the client must see
// end-of-file when the server closes its own.
func (s *Process) releaseStdio() {
	s.openNull()
	if s.null < 0 {
		return
	}
	for fd := range 3 {
		unix.Dup3(s.null, fd, 0)
	}
	unix.Close(s.null)
}

// openNull opens /dev/null if that was not done yet.
func (s *Process) openNull() {
	if s.null < 0 {
		s.null, _ = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
}

// reap waits for every child that ends in the jail, until the server itself
// does; then the shim ends, and the kernel kills what is left.
func (s *Process) reap(program int) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			unix.Exit(1)
		case pid == program && (ws.Exited() || ws.Signaled()):
			m := jail.ExitEvent(ws)
			if s.mediator != nil {
				s.mediator.Reporter.Flush()
			}
			s.sendEvent(m)
			s.killHostNS()
			unix.Exit(0) // with nothing of a Go program around it: the race detector sleeps a second in os.Exit
		}
	}
}
