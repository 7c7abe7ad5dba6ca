package supervisor

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediate"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// Main turns the process into the supervisor of a jail, or into the shim of one without
// namespaces, if it was started as that, and returns at once otherwise. Call it first thing
// in main, in every program that uses a Launcher.
//
// The shim restricts itself, checks that it is restricted, starts the server and then
// only reaps, passes signals on, supervises and watches the limits. When it ends, so
// does everything in the jail.
func Main() {
	if !IsSupervisor() {
		return
	}
	// The server is started from a locked thread that is not the leader: what the
	// thread gave up, its children never had, and the leader stays outside of the
	// server's Landlock domain.
	runtime.LockOSThread()
	if len(os.Args) > 2 && os.Args[2] == spec.ArgSupervise {
		runInNamespaces()
	}
	s := newProcess()
	s.HostNS = true
	s.run(s.Steps())
}

// run is what the leader does: it makes the threads that the init will need, while
// another goes through the steps; and then it passes signals on.
func (s *Process) run(steps []jail.Step) {
	sys.GoOnNewThread(func() { sys.OffMainThread(func() { s.build(steps) }) })
	s.makeThreads()
	s.passSignals(<-s.program)
}

func IsSupervisor() bool { return len(os.Args) >= 2 && os.Args[0] == spec.SupervisorName }

func newProcess() *Process {
	unix.CloseOnExec(spec.SpecFD)
	unix.CloseOnExec(spec.EventsFD)
	s := &Process{
		status: os.NewFile(spec.EventsFD, "status"), program: make(chan int, 1), pidfd: -1, null: -1,
		watch: make(chan struct{}), spare: make(chan struct{}),
	}
	s.Restrictor = jail.Restrictor{Init: &stub.Task{}, Server: &stub.Task{}, Send: s.sendEvent, End: s.killAll, Umask: startWithUmask()}
	return s
}

// startWithUmask returns the program's umask and gives the shim another while it builds the
// jail: what it makes for itself has the mode that it says, and a umask that takes rights
// from the owner would shut him out of his own directories.
func startWithUmask() int {
	umask := unix.Umask(0o022)
	if asked, err := strconv.ParseUint(os.Args[1], 8, 9); err == nil {
		umask = int(asked)
	}
	return umask
}

// passSignals passes on what the launcher sends for the program. The end of the
// socket means that there is no launcher any more, and so no jail.
func (s *Process) passSignals(program int) {
	var sig [1]byte
	for {
		n, err := syscall.Read(spec.SpecFD, sig[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			s.isOver()
		case sig[0] == spec.RequestSocket:
			jail.PassInbound()
		default:
			s.signal(syscall.Signal(sig[0]))
		}
	}
}

// shim is the init of a jail without namespaces.
type Process struct {
	jail.Restrictor
	mediator     *mediate.Mediator // nil where no call is handed over
	status       *os.File
	program      chan int      // its process number, once it runs
	watch        chan struct{} // closed when the limits are to be watched
	spare        chan struct{} // closed when the init has all the threads that it will need, the watching one too
	null         int           // /dev/null, for after the start; -1 until it is opened
	pidfd        int           // of the program
	tempDir      string        // the directory that was made for it
	broker       int           // the socket of asks.go
	scopedThread int           // the thread that can signal nobody but the jail's processes, or 0
}

// mediatorOptions are the options of a supervisor in this process.
func (s *Process) mediatorOptions() mediate.Options {
	return mediate.Options{
		Spec: s.Spec, WorkerRuleset: s.WorkerRuleset, Umask: s.Umask, Broker: s.broker, Send: s.Send, End: s.End,
		Failed: func(step string, err error) { s.report(jail.WrapStep(step, err)) },
	}
}

func (s *Process) build(steps []jail.Step) {
	if err := jail.RunSteps(steps); err != nil {
		s.fail(err)
	}
	s.startProgram()
}

// isOver is for when nobody is there any more who could signal anything. A supervisor has
// something to tell then; a jail of which this is the init ends.
func (s *Process) isOver() {
	if !s.HostNS {
		if s.mediator != nil {
			s.mediator.Reporter.Flush()
		}
		unix.Exit(0)
	}
	s.killAll()
}

func (s *Process) sendEvent(m spec.Event) { s.status.Write(m.Encode()) }

// launcherReads tells whether the pipe has room for a message. Each of the sampler's is shorter
// than what a pipe takes at once (pipe(7), PIPE_BUF).
func (s *Process) launcherReads() bool {
	fds := []unix.PollFd{{Fd: int32(s.status.Fd()), Events: unix.POLLOUT}}
	n, _ := unix.Poll(fds, 0)
	return n > 0
}

// fail reports why there is no jail, and ends. Nothing of the server has run.
func (s *Process) fail(err error) {
	s.report(err)
	unix.Exit(1)
}

func (s *Process) report(err error) {
	e := jail.WrapStep("init", err).(*steppkg.Error)
	if s.Spec != nil {
		s.killHostNS()
	}
	s.sendEvent(spec.Event{Kind: spec.EventFailed, Step: e.Step, Num: int(e.Errno), Detail: e.Detail})
}

// readSpec waits for the launcher's word: one byte that says which of the
// server's descriptors come with it, and the order up to the end.
func (s *Process) readSpec() error {
	var present [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, size, _, _, err := unix.Recvmsg(spec.SpecFD, present[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	if n == 0 {
		unix.Exit(0) // the launcher has no use for this shim
	}
	fds, err := sys.ParseRights(rights[:size])
	if err != nil {
		return err
	}
	for fd := range 3 {
		if present[0]&(1<<fd) == 0 {
			continue
		}
		if len(fds) == 0 {
			return spec.ErrSpec
		}
		if err := unix.Dup3(fds[0], fd, 0); err != nil {
			return err
		}
		unix.Close(fds[0])
		fds = fds[1:]
	}
	return s.takeSpec(spec.SpecFD)
}

// takeSpec reads an order, after its length.
func (s *Process) takeSpec(fd int) error {
	var length [4]byte
	if err := readFull(fd, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	err := readFull(fd, b)
	if err != nil {
		return err
	}
	if s.Spec, err = spec.Decode(b); err == nil && s.Spec.HostNS != s.HostNS {
		err = spec.ErrSpec // a plan for the other sort of jail must not be carried out here
	}
	return err
}

// readFull reads from the launcher's socket, without the runtime's poller: what
// comes after the order is read by another thread.
func readFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return spec.ErrSpec
		default:
			b = b[n:]
		}
	}
	return nil
}

// launcherLives ends the shim when nobody is there any more.
func (s *Process) launcherLives() error {
	fds := []unix.PollFd{{Fd: spec.EventsFD}}
	if _, err := unix.Poll(fds, 0); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		s.killHostNS()
		unix.Exit(1) // nobody is there to tell
	}
	return nil
}

// awaitGate returns when the launcher serves what was handed to it.
func (s *Process) awaitGate() error {
	if !s.Spec.Network.Any() {
		return nil
	}
	return readFull(spec.SpecFD, make([]byte, 1))
}
