package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// builder builds a jail around a process, and restricts the one that becomes the server.
// With namespaces the launcher does it, by means of a stub: nothing of ours runs in the
// jail that could know or decide something. Without, it is the shim, by itself.
type builder struct {
	init   *stub.Task // builds the jail, and is its init afterwards
	server *stub.Task // gives up what the server is not to have, and becomes it

	order      *order
	say        func(message)
	root       rootBuilder
	ruleset    int
	making     int         // the ruleset of the supervisor's workers
	supervisor *supervisor // nil where no call is handed over
	bare       bool        // without namespaces
	umask      int         // the program's
	end        func()      // of the jail
}

// A buildStep is one part of building the jail; its name is what a StartError tells.
type buildStep struct {
	name string
	run  func() error
}

// stepCapabilities and others are named more than once.
const (
	stepCapabilities = "capabilities"
	stepHand         = "capabilities of the supervisor's tasks"
)

// jailBuilder builds a jail with namespaces.
type jailBuilder struct {
	builder
	process  *Process
	altered  alteration
	gone     <-chan struct{} // closed when the stub has ended
	watching sync.WaitGroup
	handed   handed     // sockets of the jail
	eyes     *stub.Task // one more: the supervisor's receiver's
	worker   *stub.Task // and one: its first worker's
	hand     *stub.Task // another thread of the init
	listener int        // of the server's filter, in the stub
	stdio    Stdio
	pid      int // of the server, in the jail
	pidfd    int // of the server
}

// prepare is what does not depend on the order.
func (b *jailBuilder) prepare() []buildStep {
	return []buildStep{
		{stepNamespaces, b.mapIDs},
		{"umask", b.setUmaskAside},
		{"parent", b.bindToParent},
		{"private mounts", func() error { return privateMounts(b.init) }},
		{"keyring", func() error { return freshKeyring(b.init) }},
		{"own filesystems", b.root.own.make},
		{"loopback", func() error { return loopback(b.init) }},
	}
}

// steps are the others in order, up to the start of the program.
func (b *jailBuilder) steps() []buildStep {
	return []buildStep{
		{"order", b.takeStdio},
		{"mounts", func() error { b.init.Record(); return b.root.openSources() }},
		{stepCopies, b.root.copies},
		{stepNetwork, b.openGate},
		{"mounts", b.mounts},
		{"carve-outs", b.checkMounts},
		{"landlock rules", b.openRuleset}, // of what was just attached, which is still open
		{"mounts", b.leaveOld},
		{stepHand, b.leaveOne},
		{"mounts", b.sealProc},
		{stepCapabilities, func() error {
			b.init.Record()
			if err := b.giveUpAll(); err != nil {
				return err
			}
			return b.init.Run()
		}}, // no step after this needs one
		{"no_new_privs", func() error { return noNewPrivileges(b.init) }},
		{"parent", b.bindToParent}, // changing credentials may have undone it
		{"server", b.fork},         // which inherits all that
		{"limits", b.limits},
		{"directory", b.enterDir},
		{"tasks of the init", b.guardTasks},
		{"landlock", b.landlock},
		{"seccomp", b.seccomp},
		{"self-test", b.selfTest},
		{stepNetwork, b.serveGate},
		{"supervision", b.handOver},
		{"descriptors", b.hideDescriptors},
		{"descriptors of the init", b.letGo},
	}
}

func run(steps []buildStep) error {
	for _, step := range steps {
		if err := step.run(); err != nil {
			return startError(step.name, err)
		}
	}
	return nil
}

// startError is what a step failed with, in the words of a StartError.
func startError(step string, err error) error {
	var whole *StartError
	if errors.As(err, &whole) {
		return whole
	}
	e := &StartError{Step: step, Detail: err.Error()}
	if errors.As(err, &e.Errno) {
		e.Detail = ""
	}
	var on *stepError
	if errors.As(err, &on) {
		e.Detail = on.detail
		if e.Errno == 0 {
			e.Detail = on.Error()
		}
	}
	return e
}

// mapIDs maps the launcher's user and group to themselves (user_namespaces(7)): until
// then the stub is nobody.
func (b *jailBuilder) mapIDs() error {
	uid, gid := strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid())
	for _, f := range []struct{ name, content string }{
		{"setgroups", "deny"}, {"uid_map", uid + " " + uid + " 1"}, {"gid_map", gid + " " + gid + " 1"},
	} {
		if err := writeAt(b.init, -1, "/proc/self/"+f.name, f.content); err != nil {
			return on(f.name, err)
		}
	}
	return nil
}

// setUmaskAside gives the init another umask than the program's, which is the stub's own
// where none is named: what is made for the jail has the mode that is asked for.
func (b *jailBuilder) setUmaskAside() error {
	b.init.Umask(0o022)
	if b.umask == unknownUmask {
		b.umask = 0o022
	}
	return nil
}

// bindToParent has the kernel kill the jail when the launcher dies. The stub itself has
// looked whether that was in time.
func (b *jailBuilder) bindToParent() error {
	if _, err := b.init.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)); err != nil {
		return err
	}
	_, err := b.init.Prctl(unix.PR_SET_DUMPABLE, 0)
	return err
}

// takeStdio has the stub take the server's three descriptors. A nil file is /dev/null,
// which it has there already.
func (b *jailBuilder) takeStdio() error {
	for fd, f := range []*os.File{b.stdio.In, b.stdio.Out, b.stdio.Err} {
		if f == nil {
			continue
		}
		theirs, err := b.process.lend(b.init, int(f.Fd()))
		if err != nil {
			return err
		}
		if err := b.init.Dup3(theirs, fd, 0); err != nil {
			return err
		}
		b.init.Close(theirs)
	}
	return nil
}

// eager is how often a task of the stub looks for another call while a jail is built.
const eager = 200

// lend gives a task of the stub a copy of a descriptor, close-on-exec.
func (p *Process) lend(t *stub.Task, fd int) (int, error) {
	if err := unix.Sendmsg(int(p.control.Fd()), []byte{0}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL); err != nil {
		return -1, err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, size, err := t.Recvmsg(controlFD, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	fds, err := descriptors(control[:size])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, unix.EMFILE)
	}
	return fds[0], nil
}

// fetch gives this process a copy of a descriptor of the stub's, close-on-exec.
func (p *Process) fetch(t *stub.Task, fd int) (int, error) {
	if err := t.Sendmsg(controlFD, []byte{0}, unix.UnixRights(fd), unix.MSG_NOSIGNAL); err != nil {
		return -1, err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, size, _, _, err := unix.Recvmsg(int(p.control.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	fds, err := descriptors(control[:size])
	if err != nil || len(fds) != 1 {
		return -1, errors.Join(err, unix.EMFILE)
	}
	return fds[0], nil
}

// controlFD is the stub's end of a socket by which descriptors pass.
const (
	controlFD = stub.LifeFD
	programFD = 5 // what the stub was executed from
)

func (b *jailBuilder) mounts() error {
	if err := b.root.build(); err != nil {
		return err
	}
	return on("hostname", b.init.Sethostname("mcp-jail"))
}

// detach takes the old root away, on another thread of the init: the kernel waits for
// most of the time.
func (b *jailBuilder) detach() (err error) {
	b.hand = b.init.Child(handTask)
	b.hand.Eager(eager / 4)
	b.hand.PostUnmount(".", unix.MNT_DETACH)
	b.process.hand.t = b.hand
	return on("old root", b.init.Thread(b.hand))
}

// Numbers of tasks in the stub; what follows are the supervisor's workers.
const (
	serverTask = 1 + iota
	handTask
	eyesTask
	firstWorker
)

// leaveOld waits until the old root is detached.
func (b *jailBuilder) leaveOld() error {
	if err := b.hand.Done(); err != nil {
		return on("old root", err)
	}
	return on("/", b.init.Chdir("/"))
}

// leaveOne leaves to the init's other thread the capability by which the supervisor looks
// at the server's descriptors, and no other.
func (b *jailBuilder) leaveOne() error {
	var kept uint32
	if len(b.order.Hooks) > 0 {
		kept = 1 << unix.CAP_SYS_PTRACE
	}
	if err := b.hand.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{{Effective: kept, Permitted: kept}}); err != nil {
		return on("capset", err)
	}
	b.hand.Eager(0)
	if len(b.order.Hooks) == 0 {
		return nil
	}
	// The supervisor's two others have numbers below the server's, too.
	b.eyes, b.worker = b.init.Child(eyesTask), b.init.Child(firstWorker)
	return on("supervisor", errors.Join(b.hand.Thread(b.eyes), b.hand.Thread(b.worker)))
}

func (b *jailBuilder) sealProc() error {
	err := b.root.sealProc()
	for _, n := range b.root.notes {
		b.say(message{kind: saysNote, detail: n})
	}
	return err
}

// fork makes the process that becomes the server. It shares the table of descriptors
// until it is about to: what the filter gives is to be had from the init.
func (b *jailBuilder) fork() (err error) {
	b.server = b.init.Child(serverTask)
	b.server.Eager(eager)
	b.server.Post(unix.SYS_SETSID)
	b.init.Eager(0)
	var pidfd int
	if b.pid, pidfd, err = b.init.Fork(b.server, unix.CLONE_FILES); err != nil {
		return err
	}
	if b.pidfd, err = b.process.fetch(b.init, pidfd); err != nil {
		return err
	}
	b.init.Close(pidfd)
	return on("session", b.server.Done())
}

// guardTasks keeps the server from slowing down the tasks of its init: same user, and in
// a PID namespace of its own the filter lets scheduling calls pass. The server's own
// numbers are higher than theirs, but for workers that the supervisor takes on later.
func (b *jailBuilder) guardTasks() error {
	arch, _ := archOf(runtime.GOARCH)
	filter, err := compileGuard(arch, uint32(b.pid-1))
	if err == nil {
		_, err = applySeccomp(b.server, filterRecords(filter), 0)
	}
	return err
}

// giveUpAll empties all sets of the init.
func (b *jailBuilder) giveUpAll() error { return giveUp(b.init) }

// hideDescriptors keeps everything but the three standard ones from the server, whose
// table is its own from here on, and everything from the init.
func (b *jailBuilder) hideDescriptors() error {
	if err := b.server.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC|unix.CLOSE_RANGE_UNSHARE); err != nil {
		return err
	}
	b.server.HoldRoom(roomFor(3))
	return nil
}

// exec starts the server.
func (b *jailBuilder) exec() error {
	b.server.Umask(b.umask)
	o := b.order
	if err := b.server.Exec(o.Program, o.Argv, o.Env); err != nil {
		return startError(StepExec, on(o.Program, err))
	}
	return nil
}

// loopback brings up the one interface of an empty network namespace, so that
// a server can talk to its own children.
func loopback(t *stub.Task) error {
	fd, err := t.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	var request [40]byte // struct ifreq
	copy(request[:], "lo")
	binary.NativeEndian.PutUint16(request[unix.IFNAMSIZ:], unix.IFF_UP)
	_, err = t.Ioctl(fd, unix.SIOCSIFFLAGS, request[:])
	return on("lo", err)
}

// serveGate has somebody answer at the sockets of the jail.
func (b *jailBuilder) serveGate() error {
	if !b.order.Gate.any() {
		return nil
	}
	return b.process.serve(&b.handed)
}
