package jail

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/rootfs"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// builder builds a jail around a process, and restricts the one that becomes the server.
// With namespaces the launcher does it, by means of a stub: nothing of ours runs in the
// jail that could know or decide something. Without, it is the shim, by itself.
type Restrictor struct {
	Init   *stub.Task // builds the jail, and is its init afterwards
	Server *stub.Task // gives up what the server is not to have, and becomes it

	Spec          *spec.Spec
	Send          func(spec.Event)
	Root          rootfs.Builder
	Ruleset       int
	WorkerRuleset int    // the ruleset of the supervisor's workers
	HostNS        bool   // without namespaces
	Umask         int    // the program's
	pid           int    // of the server, in the jail
	End           func() // of the jail
}

// A buildStep is one part of building the jail; its name is what a StartError tells.
type Step struct {
	Name string
	By   *stub.Task // whose list it goes on
	Run  func() error
}

// jailBuilder builds a jail with namespaces. Three tasks of a stub do it:
//
//   - outer is the first process of the jail's outer PID namespace, and executes the
//     supervisor when all else is done. It makes the network.
//   - init is the first process of the inner one, in which the server lives. It makes the
//     mounts and the rules, and stays what it is.
//   - server is what its name says.
//
// What they do in parallel is told by the lists that their steps go on.
type Builder struct {
	Restrictor
	Control *os.File     // the stub's socket
	Serve   func() error // has what was handed over served
	Hooks   TestHooks
	Outer   *stub.Task
	Stub    *stub.Stub

	initPidfd   int
	namespaces  int         // a directory with names for those of outer
	network     int         // the jail's network namespace
	proc        int         // the supervisor's own
	nofile      unix.Rlimit // the limit of open files that was raised for the building
	ExecAllowed *stub.Event // the server's execution was let through
	Pivoted     *stub.Event // there is a new root
	stdio       Stdio
	null        int    // the jail's own /dev/null, for those of the server's that there are none of
	stdioRights []byte // the control message with the server's descriptors
	sockets     NetworkSockets
	Listener    int                // of the server's filter
	pidfd       int                // of the server
	status      syscall.WaitStatus // it ended with
}

// first are the steps that do not depend on the order.
func (b *Builder) FirstSteps() []Step {
	return []Step{
		{steppkg.Namespaces, b.Outer, b.mapIDs},
		{steppkg.CoreDumps, b.Outer, func() error { return EmptyCoreDumps(b.Outer) }},
		{"parent", b.Outer, b.bindToParent},
		{"private mounts", b.Outer, func() error { return rootfs.PrivateMounts(b.Outer) }},
		{"keyring", b.Outer, func() error { return FreshKeyring(b.Outer) }},
		{"open files", b.Outer, b.raiseFiles},
		{"init", b.Outer, b.forkInit},
		{"own filesystems", b.Init, b.Root.PrivateFS.Make},
		{steppkg.SupervisorProc, b.Outer, b.openOwnProc},
		{steppkg.Namespaces, b.Outer, b.ownNetwork},
		{"loopback", b.Outer, func() error { return loopback(b.Outer) }},
	}
}

// mounting are those that make the root of the jail, and what can be done meanwhile.
func (b *Builder) MountSteps() []Step {
	return []Step{
		{"mounts", b.Init, b.Root.OpenSources},
		{steppkg.Overlays, b.Init, b.Root.MountOverlays},
		{"mounts", b.Init, b.mounts},
		{"carve-outs", b.Init, b.CheckMounts},
		{"landlock rules", b.Init, b.OpenRuleset}, // of what was just attached, which is still open
		{"order", b.Outer, b.takeStdio},
		{steppkg.Network, b.Outer, b.openNetwork},
		{"mounts", b.Outer, b.detachOldRoot},
	}
}

// restricting are those that take from the init and from the server what they are not to
// have.
func (b *Builder) RestrictSteps() []Step {
	return []Step{
		{steppkg.Namespaces, b.Init, func() error { return b.Init.Setns(b.network, unix.CLONE_NEWNET) }},
		{"mounts", b.Init, b.sealProc},
		{steppkg.Capabilities, b.Init, func() error { return DropAllCapabilities(b.Init) }}, // no step after this needs one
		{"no_new_privs", b.Init, func() error { return SetNoNewPrivs(b.Init) }},
		{"parent", b.Init, func() error { _, err := b.Init.Prctl(unix.PR_SET_DUMPABLE, 0); return err }}, // changing credentials may have undone it
		{steppkg.Server, b.Init, b.forkServer},                                                           // which inherits all that
		{steppkg.Server, b.Server, func() error { return steppkg.On("session", b.Server.Setsid()) }},
		{"descriptors", b.Server, b.openNull}, // while as many may be open as building takes
		{"limits", b.Server, b.limitServer},
		{"directory", b.Server, b.EnterDir},
		{"tasks of the init", b.Server, b.guardInit},
		{"landlock", b.Server, b.landlock},
		{"seccomp", b.Server, func() error { return b.filter(b.Server) }},
		{"seccomp", b.Init, func() error { return b.filter(b.Init) }},
		{"self-test", b.Server, b.SelfTest},
		{"umask", b.Server, func() error { b.Server.Umask(b.Umask); return nil }},
		{steppkg.Network, b.Outer, b.passNetwork},
		{steppkg.SupervisorCapabilities, b.Outer, b.keepPtraceOnly},
		{"no_new_privs", b.Outer, func() error { return SetNoNewPrivs(b.Outer) }},
		{steppkg.Supervision, b.Server, b.passListener},
	}
}

// carryOut goes through steps. Each task's are put on a list of its own, if lists there
// are to be, and the lists run side by side. A task that is not there yet finds its list
// when it is born.
func (b *Builder) Run(steps []Step) error {
	if b.Hooks.Steps != nil {
		steps = b.Hooks.Steps(b, steps)
	}
	if b.Stub.IsStepwise() {
		return RunSteps(steps)
	}
	if err := b.record(b.Server, steps); err != nil {
		return err
	}
	if err := b.record(b.Init, steps); err != nil {
		return err
	}
	if err := b.Server.Submit(); err != nil {
		return err
	}
	if err := b.Init.Submit(); err != nil {
		return err
	}
	if err := b.record(b.Outer, steps); err != nil {
		return err
	}
	return b.Outer.Submit()
}

func (b *Builder) record(t *stub.Task, steps []Step) error {
	if err := t.Wait(); err != nil {
		return err
	}
	t.Begin()
	for _, step := range steps {
		if step.By != t {
			continue
		}
		if err := step.Run(); err != nil {
			return WrapStep(step.Name, err)
		}
	}
	return nil
}

// settle waits for all lists.
func (b *Builder) Settle() error {
	for _, t := range []*stub.Task{b.Init, b.Outer, b.Server} {
		if err := t.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func RunSteps(steps []Step) error {
	for _, step := range steps {
		if err := step.Run(); err != nil {
			return WrapStep(step.Name, err)
		}
	}
	return nil
}

// wrapStep is what a step failed with, in the words of a StartError.
func WrapStep(step string, err error) error {
	var whole *steppkg.Error
	if errors.As(err, &whole) {
		return whole
	}
	e := &steppkg.Error{Step: step, Detail: err.Error()}
	if errors.As(err, &e.Errno) {
		e.Detail = ""
	}
	var on *steppkg.WrappedError
	if errors.As(err, &on) {
		e.Detail = on.Detail
		if e.Errno == 0 {
			e.Detail = on.Error()
		}
	}
	return e
}

func (b *Builder) mounts() error {
	if err := b.Root.Build(); err != nil {
		return err
	}
	return steppkg.On("hostname", b.Init.Sethostname("mcp-jail"))
}

// turn says that leaveOld can go on.
func (b *Builder) SignalPivoted() error {
	if !b.Init.Recording() {
		return nil
	}
	return b.Init.SetEvent(b.Pivoted)
}

func (b *Builder) sealProc() error {
	err := b.Root.SealProc()
	for _, n := range b.Root.Notes {
		b.Send(spec.Event{Kind: spec.EventNote, Detail: n})
	}
	b.Root.Notes = nil
	return err
}

// forkServer makes the process that becomes the server. It shares the table of descriptors
// until it is about to: what the filter gives is to be had from the others.
func (b *Builder) forkServer() (err error) {
	b.pid, err = b.Init.Fork(b.Server, unix.CLONE_FILES, &b.pidfd)
	return err
}

// limitServer gives the server its limits. What was raised for the building is taken back.
func (b *Builder) limitServer() error {
	if b.Spec.Limits.OpenFiles <= 0 {
		if err := b.Server.Setrlimit(unix.RLIMIT_NOFILE, &b.nofile); err != nil {
			return steppkg.On("open_files", err)
		}
	}
	if err := b.LimitSignals(); err != nil {
		return err
	}
	return b.Limits()
}

// openNull opens what stands for a nil file. The host's own, which the jail is built with,
// could be changed by whoever has a descriptor: its mode, its owner.
func (b *Builder) openNull() (err error) {
	if slices.Contains(b.stdio.all(), nil) {
		b.null, err = b.Server.Openat(unix.AT_FDCWD, os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	return steppkg.On(os.DevNull, err)
}

// guardInit keeps the server from slowing down its init, which has the number 1: same user,
// and in a PID namespace of its own the filter lets scheduling calls pass. The supervisor is
// out of its sight.
func (b *Builder) guardInit() error {
	_, err := seccomp.Install(b.Server, initGuard(), 0)
	return err
}

var initGuard = sync.OnceValue(func() []byte {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	filter, err := seccomp.CompileSchedulingGuard(arch, 1)
	if err != nil {
		return nil // which no kernel takes for a filter
	}
	return seccomp.Records(filter)
})

func (b *Builder) landlock() error { return b.Server.LandlockRestrictSelf(b.Ruleset) }

func (b *Builder) filter(t *stub.Task) error {
	_, err := seccomp.Install(t, b.Spec.Seccomp, 0)
	return err
}

// passListener puts the filter in force that hands calls over. It comes after the self-test,
// whose calls would otherwise wait for the supervisor.
func (b *Builder) passListener() (err error) {
	if len(b.Spec.Hooks) > 0 {
		b.Listener, err = seccomp.Install(b.Server, b.Spec.Hooks, ListenerFlags)
	}
	return err
}

// handedOver are the flags of the filter whose calls a supervisor answers.
const ListenerFlags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
