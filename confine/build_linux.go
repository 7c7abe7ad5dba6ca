package confine

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// builder builds a jail around a process, and restricts the one that becomes the server.
// With namespaces the launcher does it, by means of a stub: nothing of ours runs in the
// jail that could know or decide something. Without, it is the shim, by itself.
type builder struct {
	init   *stub.Task // builds the jail, and is its init afterwards
	server *stub.Task // gives up what the server is not to have, and becomes it

	order   *order
	say     func(message)
	root    rootBuilder
	ruleset int
	making  int    // the ruleset of the supervisor's workers
	bare    bool   // without namespaces
	umask   int    // the program's
	pid     int    // of the server, in the jail
	end     func() // of the jail
}

// A buildStep is one part of building the jail; its name is what a StartError tells.
type buildStep struct {
	name string
	by   *stub.Task // whose list it goes on
	run  func() error
}

// stepCapabilities and others are named more than once.
const (
	stepCapabilities = "capabilities"
	stepDumps        = "core dumps"
	stepServer       = "server"
	stepSupervision  = "supervision"
	stepOwnProc      = "proc of the supervisor"
	stepKeepOne      = "capabilities of the supervisor"
)

// jailBuilder builds a jail with namespaces. Three tasks of a stub do it:
//
//   - outer is the first process of the jail's outer PID namespace, and executes the
//     supervisor when all else is done. It makes the network.
//   - init is the first process of the inner one, in which the server lives. It makes the
//     mounts and the rules, and stays what it is.
//   - server is what its name says.
//
// What they do in parallel is told by the lists that their steps go on.
type jailBuilder struct {
	builder
	control *os.File     // the stub's socket
	serve   func() error // has what was handed over served
	hooks   testHooks
	outer   *stub.Task
	stub    *stub.Stub

	initPidfd  int
	namespaces int         // a directory with names for those of outer
	network    int         // the jail's network namespace
	proc       int         // the supervisor's own
	nofile     unix.Rlimit // the limit of open files that was raised for the building
	proceeded  *stub.Event // the server's execution was let through
	turned     *stub.Event // there is a new root
	stdio      Stdio
	null       int    // the jail's own /dev/null, for those of the server's that there are none of
	lent       []byte // the control message with the server's descriptors
	sockets    gateSockets
	listener   int                // of the server's filter
	pidfd      int                // of the server
	status     syscall.WaitStatus // it ended with
}

// first are the steps that do not depend on the order.
func (b *jailBuilder) first() []buildStep {
	return []buildStep{
		{stepNamespaces, b.outer, b.mapIDs},
		{stepDumps, b.outer, func() error { return emptyDumps(b.outer) }},
		{"parent", b.outer, b.bindToParent},
		{"private mounts", b.outer, func() error { return privateMounts(b.outer) }},
		{"keyring", b.outer, func() error { return freshKeyring(b.outer) }},
		{"open files", b.outer, b.raiseFiles},
		{"init", b.outer, b.forkInit},
		{"own filesystems", b.init, b.root.own.make},
		{stepOwnProc, b.outer, b.openOwnProc},
		{stepNamespaces, b.outer, b.ownNetwork},
		{"loopback", b.outer, func() error { return loopback(b.outer) }},
	}
}

// mounting are those that make the root of the jail, and what can be done meanwhile.
func (b *jailBuilder) mounting() []buildStep {
	return []buildStep{
		{"mounts", b.init, b.root.openSources},
		{stepCopies, b.init, b.root.copies},
		{"mounts", b.init, b.mounts},
		{"carve-outs", b.init, b.checkMounts},
		{"landlock rules", b.init, b.openRuleset}, // of what was just attached, which is still open
		{"order", b.outer, b.takeStdio},
		{stepNetwork, b.outer, b.openGate},
		{"mounts", b.outer, b.leaveOld},
	}
}

// restricting are those that take from the init and from the server what they are not to
// have.
func (b *jailBuilder) restricting() []buildStep {
	return []buildStep{
		{stepNamespaces, b.init, func() error { return b.init.Setns(b.network, unix.CLONE_NEWNET) }},
		{"mounts", b.init, b.sealProc},
		{stepCapabilities, b.init, func() error { return giveUp(b.init) }}, // no step after this needs one
		{"no_new_privs", b.init, func() error { return noNewPrivileges(b.init) }},
		{"parent", b.init, func() error { _, err := b.init.Prctl(unix.PR_SET_DUMPABLE, 0); return err }}, // changing credentials may have undone it
		{stepServer, b.init, b.forkServer},                                                               // which inherits all that
		{stepServer, b.server, func() error { return on("session", b.server.Setsid()) }},
		{"descriptors", b.server, b.openNull}, // while as many may be open as building takes
		{"limits", b.server, b.limitServer},
		{"directory", b.server, b.enterDir},
		{"tasks of the init", b.server, b.guardInit},
		{"landlock", b.server, b.landlock},
		{"seccomp", b.server, func() error { return b.filter(b.server) }},
		{"seccomp", b.init, func() error { return b.filter(b.init) }},
		{"self-test", b.server, b.selfTest},
		{"umask", b.server, func() error { b.server.Umask(b.umask); return nil }},
		{stepNetwork, b.outer, b.handOverGate},
		{stepKeepOne, b.outer, b.keepOne},
		{"no_new_privs", b.outer, func() error { return noNewPrivileges(b.outer) }},
		{stepSupervision, b.server, b.handOver},
	}
}

// carryOut goes through steps. Each task's are put on a list of its own, if lists there
// are to be, and the lists run side by side. A task that is not there yet finds its list
// when it is born.
func (b *jailBuilder) carryOut(steps []buildStep) error {
	if b.hooks.steps != nil {
		steps = b.hooks.steps(b, steps)
	}
	if b.stub.IsStepwise() {
		return run(steps)
	}
	if err := b.record(b.server, steps); err != nil {
		return err
	}
	if err := b.record(b.init, steps); err != nil {
		return err
	}
	if err := b.server.Submit(); err != nil {
		return err
	}
	if err := b.init.Submit(); err != nil {
		return err
	}
	if err := b.record(b.outer, steps); err != nil {
		return err
	}
	return b.outer.Submit()
}

func (b *jailBuilder) record(t *stub.Task, steps []buildStep) error {
	if err := t.Wait(); err != nil {
		return err
	}
	t.Begin()
	for _, step := range steps {
		if step.by != t {
			continue
		}
		if err := step.run(); err != nil {
			return wrapStep(step.name, err)
		}
	}
	return nil
}

// settle waits for all lists.
func (b *jailBuilder) settle() error {
	for _, t := range []*stub.Task{b.init, b.outer, b.server} {
		if err := t.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func run(steps []buildStep) error {
	for _, step := range steps {
		if err := step.run(); err != nil {
			return wrapStep(step.name, err)
		}
	}
	return nil
}

// wrapStep is what a step failed with, in the words of a StartError.
func wrapStep(step string, err error) error {
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

func (b *jailBuilder) mounts() error {
	if err := b.root.build(); err != nil {
		return err
	}
	return on("hostname", b.init.Sethostname("mcp-jail"))
}

// turn says that leaveOld can go on.
func (b *jailBuilder) turn() error {
	if !b.init.Recording() {
		return nil
	}
	return b.init.SetEvent(b.turned)
}

// Descriptors that the stub begins with.
const (
	controlFD = stub.LifeFD // a socket by which descriptors pass, and signals afterwards
	programFD = 5           // what the stub was executed from
	wordsFD   = 6           // the supervisor's order, and its messages
	selfFD    = 7           // the supervisor's program
)

func (b *jailBuilder) sealProc() error {
	err := b.root.sealProc()
	for _, n := range b.root.notes {
		b.say(message{kind: saysNote, detail: n})
	}
	b.root.notes = nil
	return err
}

// forkServer makes the process that becomes the server. It shares the table of descriptors
// until it is about to: what the filter gives is to be had from the others.
func (b *jailBuilder) forkServer() (err error) {
	b.pid, err = b.init.Fork(b.server, unix.CLONE_FILES, &b.pidfd)
	return err
}

// limitServer gives the server its limits. What was raised for the building is taken back.
func (b *jailBuilder) limitServer() error {
	if b.order.Limits.OpenFiles <= 0 {
		if err := b.server.Setrlimit(unix.RLIMIT_NOFILE, &b.nofile); err != nil {
			return on("open_files", err)
		}
	}
	if err := b.limitSignals(); err != nil {
		return err
	}
	return b.limits()
}

// openNull opens what stands for a nil file. The host's own, which the jail is built with,
// could be changed by whoever has a descriptor: its mode, its owner.
func (b *jailBuilder) openNull() (err error) {
	if slices.Contains(b.stdio.all(), nil) {
		b.null, err = b.server.Openat(unix.AT_FDCWD, os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	return on(os.DevNull, err)
}

// guardInit keeps the server from slowing down its init, which has the number 1: same user,
// and in a PID namespace of its own the filter lets scheduling calls pass. The supervisor is
// out of its sight.
func (b *jailBuilder) guardInit() error {
	_, err := applySeccomp(b.server, initGuard(), 0)
	return err
}

var initGuard = sync.OnceValue(func() []byte {
	arch, _ := archOf(runtime.GOARCH)
	filter, err := compileGuard(arch, 1)
	if err != nil {
		return nil // which no kernel takes for a filter
	}
	return filterRecords(filter)
})

func (b *jailBuilder) landlock() error { return b.server.LandlockRestrictSelf(b.ruleset) }

func (b *jailBuilder) filter(t *stub.Task) error {
	_, err := applySeccomp(t, b.order.Seccomp, 0)
	return err
}

// handOver puts the filter in force that hands calls over. It comes after the self-test,
// whose calls would otherwise wait for the supervisor.
func (b *jailBuilder) handOver() (err error) {
	if len(b.order.Hooks) > 0 {
		b.listener, err = applySeccomp(b.server, b.order.Hooks, handedOver)
	}
	return err
}

// handedOver are the flags of the filter whose calls a supervisor answers.
const handedOver = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
