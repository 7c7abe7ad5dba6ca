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

// startProgram starts the server and then reaps. It does not return.
//
// During the fork this thread keeps its P (see the Go scheduler) until the exec is done, and
// the mediator must answer that exec on another thread. So the launcher starts this process
// with a GOMAXPROCS above one and without garbage collection, which would stop the world.
func (s *Process) startProgram() {
	attr := &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL, // in case the supervisor is killed
		PidFD:     &s.pidfd,
	}
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
	close(s.started)
	s.status.send(spec.Event{Kind: spec.EventStarted, Pid: pid})
	debug.SetGCPercent(100)
	s.releaseStdio()
	close(s.watch)
	s.reap(pid)
}

// releaseStdio replaces this process's standard descriptors by /dev/null, so that the client
// sees end-of-file when the server closes its standard descriptors.
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

func (s *Process) openNull() {
	if s.null < 0 {
		s.null, _ = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
}

// reap reaps the children of this process until the server exits. Then it reports the exit,
// kills the processes that the server left, and ends this process. It passes every other status
// to the mediator, for the traced threads.
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
			s.status.send(m)
			s.killHostNS()
			unix.Exit(0) // not os.Exit, in which the race detector sleeps for a second
		case s.mediator != nil:
			s.mediator.Stopped(pid, ws)
		}
	}
}
