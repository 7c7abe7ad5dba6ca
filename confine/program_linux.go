package confine

import (
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// runsAtOnce is GOMAXPROCS of the shim. Three threads keep their place in Go's scheduler
// while they wait for a moment: the builder for the exec, the receiver and a worker for
// what comes next (see patience).
const runsAtOnce = 3

// startProgram executes the server and stays behind as its init.
//
// While this thread waits for the exec it keeps its place in Go's scheduler, and the
// supervisor has to answer that very exec. So there is room for others, and nothing
// that stops the world: the launcher starts the shim with runsAtOnce and the
// collector off.
func (s *shim) startProgram() {
	attr := &syscall.SysProcAttr{
		Setsid:    true,
		Pdeathsig: syscall.SIGKILL, // should the init be ended by force
		PidFD:     &s.pidfd,
	}
	unix.Umask(s.umask)
	release := holdRoom()
	pid, err := syscall.ForkExec(s.order.Program, s.order.Argv, &syscall.ProcAttr{
		Env:   s.order.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   attr,
	})
	release()
	if err != nil {
		s.fail(wrapStep(StepExec, on(s.order.Program, err)))
	}
	s.program <- pid
	s.tell(message{kind: saysStarted, pid: pid})
	debug.SetGCPercent(100)
	s.releaseStdio()
	close(s.watch)
	s.reap(pid)
}

// releaseStdio lets go of the server's three descriptors: the client must see
// end-of-file when the server closes its own.
func (s *shim) releaseStdio() {
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
func (s *shim) openNull() {
	if s.null < 0 {
		s.null, _ = unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
}

// reap waits for every child that ends in the jail, until the server itself
// does; then the shim ends, and the kernel kills what is left.
func (s *shim) reap(program int) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			unix.Exit(1)
		case pid == program && (ws.Exited() || ws.Signaled()):
			m := exitMessage(ws)
			if s.supervisor != nil {
				s.supervisor.ledger.tellRest()
			}
			s.tell(m)
			s.endBare()
			unix.Exit(0) // with nothing of a Go program around it: the race detector sleeps a second in os.Exit
		}
	}
}

func exitMessage(ws syscall.WaitStatus) message {
	if ws.Signaled() {
		return message{kind: saysExit, num: 128 + int(ws.Signal()), pid: int(ws.Signal())}
	}
	return message{kind: saysExit, num: ws.ExitStatus()}
}

// childless reaps who has ended already, and tells whether nobody else is left in the
// jail: an orphan is the init's child, whatever signal its parent wanted (WALL).
func childless(t *stub.Task) bool {
	for {
		pid, err := t.Wait4(-1, nil, syscall.WNOHANG|syscall.WALL)
		switch {
		case err == syscall.ECHILD:
			return true
		case err == nil && pid == 0, err != nil && err != syscall.EINTR:
			return false
		}
	}
}
