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

// ShimMain turns the process into the supervisor of a jail, or into the shim of one without
// namespaces, if it was started as that, and returns at once otherwise. Call it first thing
// in main, in every program that uses a Launcher.
//
// The shim restricts itself, checks that it is restricted, starts the server and then
// only reaps, passes signals on, supervises and watches the limits. When it ends, so
// does everything in the jail.
func ShimMain() {
	if !IsShim() {
		return
	}
	// The server is started from a locked thread that is not the leader: what the
	// thread gave up, its children never had, and the leader stays outside of the
	// server's Landlock domain.
	runtime.LockOSThread()
	if len(os.Args) > 2 && os.Args[2] == spec.ArgSupervise {
		superviseJail()
	}
	s := newShim()
	s.Bare = true
	s.lead(s.Steps())
}

// lead is what the leader does: it makes the threads that the init will need, while
// another goes through the steps; and then it passes signals on.
func (s *Shim) lead(steps []jail.BuildStep) {
	sys.GoOnNewThread(func() { sys.OffMainThread(func() { s.build(steps) }) })
	s.makeThreads()
	s.passSignals(<-s.program)
}

func IsShim() bool { return len(os.Args) >= 2 && os.Args[0] == spec.ShimName }

func newShim() *Shim {
	unix.CloseOnExec(spec.OrderFD)
	unix.CloseOnExec(spec.StatusFD)
	s := &Shim{
		status: os.NewFile(spec.StatusFD, "status"), program: make(chan int, 1), pidfd: -1, null: -1,
		watch: make(chan struct{}), spare: make(chan struct{}),
	}
	s.Builder = jail.Builder{Init: &stub.Task{}, Server: &stub.Task{}, Say: s.tell, End: s.endAll, Umask: setUmaskAside()}
	return s
}

// setUmaskAside returns the program's umask and gives the shim another while it builds the
// jail: what it makes for itself has the mode that it says, and a umask that takes rights
// from the owner would shut him out of his own directories.
func setUmaskAside() int {
	umask := unix.Umask(0o022)
	if asked, err := strconv.ParseUint(os.Args[1], 8, 9); err == nil {
		umask = int(asked)
	}
	return umask
}

// passSignals passes on what the launcher sends for the program. The end of the
// socket means that there is no launcher any more, and so no jail.
func (s *Shim) passSignals(program int) {
	var sig [1]byte
	for {
		n, err := syscall.Read(spec.OrderFD, sig[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			s.isOver()
		case sig[0] == spec.AskSocket:
			jail.HandSpare()
		default:
			s.signal(syscall.Signal(sig[0]))
		}
	}
}

// shim is the init of a jail without namespaces.
type Shim struct {
	jail.Builder
	supervisor *mediate.Supervisor // nil where no call is handed over
	status     *os.File
	program    chan int      // its process number, once it runs
	watch      chan struct{} // closed when the limits are to be watched
	spare      chan struct{} // closed when the init has all the threads that it will need, the watching one too
	null       int           // /dev/null, for after the start; -1 until it is opened
	pidfd      int           // of the program
	tmp        string        // the directory that was made for it
	asks       int           // the socket of asks.go
	scoped     int           // the thread that can signal nobody but the jail's processes, or 0
}

// supervision are the options of a supervisor in this process.
func (s *Shim) supervision() mediate.SupervisorOptions {
	return mediate.SupervisorOptions{
		Order: s.Order, Making: s.Making, Umask: s.Umask, Asks: s.asks, Say: s.Say, End: s.End,
		Failed: func(step string, err error) { s.report(jail.WrapStep(step, err)) },
	}
}

func (s *Shim) build(steps []jail.BuildStep) {
	if err := jail.Run(steps); err != nil {
		s.fail(err)
	}
	s.startProgram()
}

// isOver is for when nobody is there any more who could signal anything. A supervisor has
// something to tell then; a jail of which this is the init ends.
func (s *Shim) isOver() {
	if !s.Bare {
		if s.supervisor != nil {
			s.supervisor.Ledger.TellRest()
		}
		unix.Exit(0)
	}
	s.endAll()
}

func (s *Shim) tell(m spec.Message) { s.status.Write(m.Encode()) }

// isHeard tells whether the pipe has room for a message. Each of the sampler's is shorter
// than what a pipe takes at once (pipe(7), PIPE_BUF).
func (s *Shim) isHeard() bool {
	fds := []unix.PollFd{{Fd: int32(s.status.Fd()), Events: unix.POLLOUT}}
	n, _ := unix.Poll(fds, 0)
	return n > 0
}

// fail reports why there is no jail, and ends. Nothing of the server has run.
func (s *Shim) fail(err error) {
	s.report(err)
	unix.Exit(1)
}

func (s *Shim) report(err error) {
	e := jail.WrapStep("init", err).(*steppkg.Error)
	if s.Order != nil {
		s.endBare()
	}
	s.tell(spec.Message{Kind: spec.SaysFailed, Step: e.Step, Num: int(e.Errno), Detail: e.Detail})
}

// readOrder waits for the launcher's word: one byte that says which of the
// server's descriptors come with it, and the order up to the end.
func (s *Shim) readOrder() error {
	var present [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, size, _, _, err := unix.Recvmsg(spec.OrderFD, present[:], rights, unix.MSG_CMSG_CLOEXEC)
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
			return spec.ErrOrder
		}
		if err := unix.Dup3(fds[0], fd, 0); err != nil {
			return err
		}
		unix.Close(fds[0])
		fds = fds[1:]
	}
	return s.takeOrder(spec.OrderFD)
}

// takeOrder reads an order, after its length.
func (s *Shim) takeOrder(fd int) error {
	var length [4]byte
	if err := readFull(fd, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	err := readFull(fd, b)
	if err != nil {
		return err
	}
	if s.Order, err = spec.DecodeOrder(b); err == nil && s.Order.Bare != s.Bare {
		err = spec.ErrOrder // a plan for the other sort of jail must not be carried out here
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
			return spec.ErrOrder
		default:
			b = b[n:]
		}
	}
	return nil
}

// launcherLives ends the shim when nobody is there any more.
func (s *Shim) launcherLives() error {
	fds := []unix.PollFd{{Fd: spec.StatusFD}}
	if _, err := unix.Poll(fds, 0); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		s.endBare()
		unix.Exit(1) // nobody is there to tell
	}
	return nil
}

// awaitGate returns when the launcher serves what was handed to it.
func (s *Shim) awaitGate() error {
	if !s.Order.Gate.Any() {
		return nil
	}
	return readFull(spec.OrderFD, make([]byte, 1))
}
