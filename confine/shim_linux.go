package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// shimName is the shim's argv[0]; nothing else tells it from the program that
// it is a copy of.
const shimName = "mcp-jail: init"

// Descriptors of the shim beyond the server's three.
const (
	orderFD  = 3 // the order, and after it signals for the program, a byte each
	statusFD = 4 // messages to the launcher; never seen by the server
)

// argSupervise is the last argument of a supervisor.
const argSupervise = "supervise"

// ShimMain turns the process into the supervisor of a jail, or into the shim of one without
// namespaces, if it was started as that, and returns at once otherwise. Call it first thing
// in main, in every program that uses a Launcher.
//
// The shim restricts itself, checks that it is restricted, starts the server and then
// only reaps, passes signals on, supervises and watches the limits. When it ends, so
// does everything in the jail.
func ShimMain() {
	if !isShim() {
		return
	}
	// The server is started from a locked thread that is not the leader: what the
	// thread gave up, its children never had, and the leader stays outside of the
	// server's Landlock domain.
	runtime.LockOSThread()
	if len(os.Args) > 2 && os.Args[2] == argSupervise {
		superviseJail()
	}
	s := newShim()
	s.bare = true
	s.lead(s.steps())
}

// lead is what the leader does: it makes the threads that the init will need, while
// another goes through the steps; and then it passes signals on.
func (s *shim) lead(steps []buildStep) {
	atOnce(func() { onOtherThread(func() { s.build(steps) }) })
	s.makeThreads()
	s.passSignals(<-s.program)
}

func isShim() bool { return len(os.Args) >= 2 && os.Args[0] == shimName }

func newShim() *shim {
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(statusFD)
	s := &shim{
		status: os.NewFile(statusFD, "status"), program: make(chan int, 1), pidfd: -1, null: -1,
		watch: make(chan struct{}), spare: make(chan struct{}),
	}
	s.builder = builder{init: &stub.Task{}, server: &stub.Task{}, say: s.tell, end: s.endAll, umask: setUmaskAside()}
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
func (s *shim) passSignals(program int) {
	var sig [1]byte
	for {
		n, err := syscall.Read(orderFD, sig[:])
		switch {
		case err == syscall.EINTR:
		case err != nil || n == 0:
			s.isOver()
		case sig[0] == askSocket:
			handSpare()
		default:
			s.signal(syscall.Signal(sig[0]))
		}
	}
}

// atOnce starts f on another thread while this one goes on. The scheduler leaves the
// latest goroutine to the thread that made it, and others take it only after a pause:
// so there is a later one.
func atOnce(f func()) {
	go f()
	go func() {}()
}

func onOtherThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go onOtherThread(f)
		select {}
	}
	f()
}

// shim is the init of a jail without namespaces.
type shim struct {
	builder
	supervisor *supervisor // nil where no call is handed over
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
func (s *shim) supervision() supervisorOptions {
	return supervisorOptions{
		order: s.order, making: s.making, umask: s.umask, asks: s.asks, say: s.say, end: s.end,
		failed: func(step string, err error) { s.report(wrapStep(step, err)) },
	}
}

func (s *shim) build(steps []buildStep) {
	if err := run(steps); err != nil {
		s.fail(err)
	}
	s.startProgram()
}

// isOver is for when nobody is there any more who could signal anything. A supervisor has
// something to tell then; a jail of which this is the init ends.
func (s *shim) isOver() {
	if !s.bare {
		if s.supervisor != nil {
			s.supervisor.ledger.tellRest()
		}
		unix.Exit(0)
	}
	s.endAll()
}

// manyTurns is how often a thread yields its processor while it waits: some hundred
// microseconds on an idle machine.
const manyTurns = 1000

func (s *shim) tell(m message) { s.status.Write(m.encode()) }

// isHeard tells whether the pipe has room for a message. Each of the sampler's is shorter
// than what a pipe takes at once (pipe(7), PIPE_BUF).
func (s *shim) isHeard() bool {
	fds := []unix.PollFd{{Fd: int32(s.status.Fd()), Events: unix.POLLOUT}}
	n, _ := unix.Poll(fds, 0)
	return n > 0
}

// fail reports why there is no jail, and ends. Nothing of the server has run.
func (s *shim) fail(err error) {
	s.report(err)
	unix.Exit(1)
}

func (s *shim) report(err error) {
	e := wrapStep("init", err).(*StartError)
	if s.order != nil {
		s.endBare()
	}
	s.tell(message{kind: saysFailed, step: e.Step, num: int(e.Errno), detail: e.Detail})
}

// readOrder waits for the launcher's word: one byte that says which of the
// server's descriptors come with it, and the order up to the end.
func (s *shim) readOrder() error {
	var present [1]byte
	rights := make([]byte, unix.CmsgSpace(3*4))
	n, size, _, _, err := unix.Recvmsg(orderFD, present[:], rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return err
	}
	if n == 0 {
		unix.Exit(0) // the launcher has no use for this shim
	}
	fds, err := descriptors(rights[:size])
	if err != nil {
		return err
	}
	for fd := range 3 {
		if present[0]&(1<<fd) == 0 {
			continue
		}
		if len(fds) == 0 {
			return errOrder
		}
		if err := unix.Dup3(fds[0], fd, 0); err != nil {
			return err
		}
		unix.Close(fds[0])
		fds = fds[1:]
	}
	return s.takeOrder(orderFD)
}

// takeOrder reads an order, after its length.
func (s *shim) takeOrder(fd int) error {
	var length [4]byte
	if err := readFull(fd, length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	err := readFull(fd, b)
	if err != nil {
		return err
	}
	if s.order, err = decodeOrder(b); err == nil && s.order.Bare != s.bare {
		err = errOrder // a plan for the other sort of jail must not be carried out here
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
			return errOrder
		default:
			b = b[n:]
		}
	}
	return nil
}

// launcherLives ends the shim when nobody is there any more.
func (s *shim) launcherLives() error {
	fds := []unix.PollFd{{Fd: statusFD}}
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
func (s *shim) awaitGate() error {
	if !s.order.Gate.any() {
		return nil
	}
	return readFull(orderFD, make([]byte, 1))
}
