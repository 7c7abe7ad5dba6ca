package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// shimName is the shim's argv[0]; nothing else tells it from the program that
// it is a copy of.
const shimName = "mcp-jail: init"

// Its first argument says what it was born with. The others are the launcher's uid
// and gid, and the program's umask if it is not the shim's own.
const (
	shimOwnNet = "own-network" // namespaces of all kinds
	shimBare   = "bare"        // none
)

// Descriptors of the shim beyond the server's three.
const (
	orderFD  = 3 // the order, and after it signals for the program, a byte each
	statusFD = 4 // messages to the launcher; never seen by the server
)

// ShimMain turns the process into the shim of a jail if the launcher started it
// as one, and returns at once otherwise. Call it first thing in main, in every
// program that uses a Launcher.
//
// The shim is the jail's PID 1. It builds the jail around itself, restricts
// itself, checks from inside that it is restricted, starts the server and then
// only reaps, passes signals on and watches the limits. When it ends, however it
// ends, the kernel ends everything in the jail.
func ShimMain() {
	if !isShim() {
		return
	}
	bePunctual() // before the thread is made that makes the others
	// The server is started from a locked thread that is not the leader: what the
	// thread gave up, its children never had, and the leader stays outside of the
	// server's Landlock domain.
	runtime.LockOSThread()
	s := newShim()
	steps := s.steps
	if s.bare = os.Args[1] == shimBare; s.bare {
		steps = s.bareSteps
	}
	s.lead(steps())
}

// lead is what the leader does: a part of the building that does not depend on the
// order, while another thread goes through the steps; and then it passes signals on.
func (s *shim) lead(steps []shimStep) {
	atOnce(func() { onOtherThread(func() { s.run(steps) }) })
	if !s.bare {
		s.mapped.close(mapIDs()) // nobody can make a file before
	}
	s.begun.soon(fewTurns) // it may be queued behind us
	if !s.bare {
		s.made.close(s.root.own.make())
		s.up.close(loopback())
	}
	s.makeThreads()
	s.passSignals(<-s.program)
}

func isShim() bool { return len(os.Args) >= 5 && os.Args[0] == shimName }

func newShim() *shim {
	unix.CloseOnExec(orderFD)
	unix.CloseOnExec(statusFD)
	return &shim{
		status: os.NewFile(statusFD, "status"), program: make(chan int, 1), pidfd: -1, null: -1,
		watch: make(chan struct{}), umask: setUmaskAside(),
	}
}

// setUmaskAside returns the program's umask and gives the shim another while it builds the
// jail: what it makes for itself has the mode that it says, and a umask that takes rights
// from the owner would shut him out of his own /etc.
func setUmaskAside() int {
	umask := unix.Umask(0o022)
	if asked, err := strconv.ParseUint(os.Args[4], 8, 9); err == nil {
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
			s.end()
		case sig[0] == askSocket:
			handSpare()
		default:
			s.signal(program, syscall.Signal(sig[0]))
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

type shim struct {
	order      *order
	status     *os.File
	root       rootBuilder
	ruleset    int
	making     int           // the ruleset of the supervisor's workers
	supervisor *supervisor   // nil where no call is handed over
	program    chan int      // its process number, once it runs
	watch      chan struct{} // closed when the limits are to be watched
	begun      latch         // the building has
	spare      latch         // closed when the init has all the threads that it will need, the watching one too
	mapped     latch         // the ids are
	up, made   latch         // the loopback, and the own filesystems
	apart      apart         // from the leader and its threads
	gate       latch         // the sockets for the launcher, where there are any
	null       int           // /dev/null, for after the start; -1 until it is opened
	bare       bool          // without namespaces
	umask      int           // the program's
	asks       int           // bare: the socket of asks.go
	pidfd      int           // bare: of the program
	tmp        string        // bare: the directory that was made for it
	scoped     int           // the thread that can signal nobody but the jail's processes, or 0
}

// A shimStep is one part of building the jail; its name is what a StartError
// tells.
type shimStep struct {
	name string
	run  func() error
}

// steps are all of them in order, up to the start of the program.
func (s *shim) steps() []shimStep {
	return []shimStep{
		{stepNamespaces, func() error { return s.await(&s.mapped) }},
		{"parent", s.bindToParent},
		{"private mounts", privateMounts},
		{"keyring", freshKeyring},
		{"order", s.readOrder},
		{"mounts", s.root.openSources},
		{stepCopies, s.copies},
		{stepNetwork, s.beginGate},
		{"own filesystems", func() error { return s.await(&s.made) }},
		{"mounts", s.mounts},
		{"carve-outs", s.checkMounts},
		{"loopback", func() error { return s.await(&s.up) }},
		{stepNetwork, func() error { return s.await(&s.gate) }}, // before there are fewer descriptors to be had
		{"landlock rules", s.openRuleset},                       // holds a descriptor for each mount, which the limits may not leave room for
		{"limits", s.limits},
		{"mounts", s.leaveOld},
		{"directory", s.enterDir},
		{"mounts", s.sealProc},
		{"capabilities", s.dropCapabilities},
		{"descriptors", hideDescriptors},
		{"parent", s.bindToParent}, // changing credentials may have undone it
		{"no_new_privs", noNewPrivileges},
		{"threads of the init", s.guardThreads}, // reads /proc, which the server may not be allowed
		{"landlock", s.landlock},
		{"seccomp", s.seccomp},
		{"self-test", s.selfTest},
		{stepNetwork, s.awaitGate},
		{"supervision", s.handOver},
	}
}

func (s *shim) run(steps []shimStep) {
	bePunctual()
	if !s.bare {
		s.apart.begin()
	}
	s.begun.close(nil)
	for _, step := range steps {
		if err := step.run(); err != nil {
			s.fail(step.name, err)
		}
	}
	s.startProgram()
}

// How often a thread lets others go first: some ten microseconds where there are none,
// and some hundred.
const fewTurns, manyTurns = 30, 1000

// await waits for what another thread of the shim does. Should it take long, because the
// machine is busy, all have all processors again.
func (s *shim) await(l *latch) error {
	if !l.soon(manyTurns) {
		s.apart.end()
	}
	return l.wait()
}

func (s *shim) say(m message) { s.status.Write(m.encode()) }

// isHeard tells whether the pipe has room for a message. Each of the sampler's is shorter
// than what a pipe takes at once (pipe(7), PIPE_BUF).
func (s *shim) isHeard() bool {
	fds := []unix.PollFd{{Fd: int32(s.status.Fd()), Events: unix.POLLOUT}}
	n, _ := unix.Poll(fds, 0)
	return n > 0
}

// fail reports the step and ends. Nothing of the server has run.
func (s *shim) fail(step string, err error) {
	s.report(step, err)
	unix.Exit(1)
}

func (s *shim) report(step string, err error) {
	m := message{kind: saysFailed, step: step, detail: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		m.num = int(errno)
		m.detail = ""
	}
	var on *stepError
	if errors.As(err, &on) {
		m.detail = on.detail
		if m.num == 0 {
			m.detail = on.Error()
		}
	}
	if s.bare && s.order != nil {
		s.endBare()
	}
	s.say(m)
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
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil {
		return err
	}
	var fds []int
	for i := range messages {
		if fds, err = unix.ParseUnixRights(&messages[i]); err != nil {
			return err
		}
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
	var length [4]byte
	if err := readFull(length[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(length[:]))
	if err := readFull(b); err != nil {
		return err
	}
	if s.order, err = decodeOrder(b); err == nil && s.order.Bare != s.bare {
		err = errOrder // a plan for one sort of jail must not be carried out in the other
	}
	s.root.order = s.order
	return err
}

// readFull reads from the launcher's socket, without the runtime's poller: what
// comes after the order is read by another thread.
func readFull(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(orderFD, b)
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

// bindToParent has the kernel kill the jail when the launcher dies, and checks
// that it was not too late to ask (prctl(2), PR_SET_PDEATHSIG). The launcher is
// in another PID namespace, so its death shows at the other end of the status
// pipe, not in getppid.
func (s *shim) bindToParent() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

// launcherLives ends the shim when nobody is there any more.
func (s *shim) launcherLives() error {
	fds := []unix.PollFd{{Fd: statusFD}}
	if _, err := unix.Poll(fds, 0); err != nil && !errors.Is(err, unix.EINTR) {
		return err
	}
	if fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		if s.bare {
			s.endBare()
		}
		unix.Exit(1) // nobody is there to tell
	}
	return nil
}

func (s *shim) mounts() error {
	if err := s.root.build(); err != nil {
		return err
	}
	return on("hostname", unix.Sethostname([]byte("mcp-jail")))
}

// sealProc comes when there are all threads of the init.
func (s *shim) sealProc() error {
	err := s.await(&s.spare)
	if err == nil {
		err = s.root.sealProc()
	}
	for _, n := range s.root.notes {
		s.say(message{kind: saysNote, detail: n})
	}
	return err
}

// loopback brings up the one interface of an empty network namespace, so that
// a server can talk to its own children.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return on("lo", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo))
}
