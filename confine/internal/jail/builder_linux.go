package jail

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// A Restrictor has the state and the steps that both kinds of jails share. In a jail with
// namespaces its tasks belong to a stub. In a jail in the host's namespaces they are the
// calling thread of the supervisor.
type Restrictor struct {
	Init   *stub.Task // builds the jail, and is its init afterwards
	Parent *stub.Task // forks the server and waits for its end
	Server *stub.Task // restricts itself, and becomes the server

	Spec          *spec.Spec
	Send          func(spec.Event) // sends an event to the launcher
	Root          rootBuilder
	Ruleset       int    // the server's Landlock ruleset
	WorkerRuleset int    // the Landlock ruleset of the supervisor's workers
	HostNS        bool   // the jail is in the host's namespaces
	Umask         int    // the server's file mode mask
	pid           int    // the server's process number in the jail
	parent        int    // its parent's
	End           func() // ends the jail
}

// A Step is one part of building a jail.
type Step struct {
	Name string     // as a StartError shows it
	Task *stub.Task // carries it out
	Run  func() error
}

// A Builder builds a jail with namespaces through four tasks of a stub: see the package
// comment. Each task carries out its own steps. The steps of different tasks run in parallel.
type Builder struct {
	Restrictor
	Control   *os.File     // the socket to the stub
	Serve     func() error // starts to serve the sockets that the jail passed
	TestHooks TestHooks
	Outer     *stub.Task
	Stub      *stub.Stub

	initPidfd   int
	parentPidfd int
	namespaces  int         // the directory /proc/self/ns of outer
	network     int         // the jail's network namespace
	proc        int         // the supervisor's proc, or -1
	nofile      unix.Rlimit // the limit of open files before raiseFiles
	ExecAllowed *stub.Event // outer let the server's execve continue; without a listener: see StartServer
	Pivoted     *stub.Event // the new root is in place
	stdio       Stdio
	Ahead       bool   // the server's files come after Build, by TakeStdio
	null        int    // the jail's /dev/null, in place of nil files of stdio
	stdioRights []byte // the control message with the server's descriptors
	sockets     NetworkSockets
	Listener    int                // the listener of the server's filter, or -1
	pidfd       int                // the server's pidfd
	status      syscall.WaitStatus // the server's exit status
}

// FirstSteps returns the steps that do not depend on the spec.
func (b *Builder) FirstSteps() []Step {
	return []Step{
		{steppkg.Namespaces, b.Outer, b.mapIDs},
		{steppkg.CoreDumps, b.Outer, func() error { return EmptyCoreDumps(b.Outer) }},
		{"parent", b.Outer, b.bindToParent},
		{steppkg.PrivateMounts, b.Outer, func() error { return PrivateMounts(b.Outer) }},
		{"keyring", b.Outer, func() error { return FreshKeyring(b.Outer) }},
		{"open files", b.Outer, b.raiseFiles},
		{steppkg.Capabilities, b.Outer, func() error { return dropBounding(b.Outer) }}, // once: all other tasks descend from this one
		{"init", b.Outer, b.forkInit},
		{steppkg.OwnFilesystems, b.Init, b.Root.PrivateFS.Make},
		{steppkg.SupervisorProc, b.Outer, b.openOwnProc},
		{steppkg.Namespaces, b.Outer, b.ownNetwork},
		{steppkg.Loopback, b.Outer, func() error { return loopback(b.Outer) }},
	}
}

// MountSteps returns the steps that build the jail's root, and steps of outer that can run
// meanwhile.
func (b *Builder) MountSteps() []Step {
	return []Step{
		{"mounts", b.Init, b.Root.openSources},
		{steppkg.Overlays, b.Init, b.Root.mountOverlays},
		{"mounts", b.Init, b.mounts},
		{"carve-outs", b.Init, b.CheckMounts},
		{"landlock rules", b.Init, b.OpenRuleset}, // uses the descriptors of the clones that were just attached
		{steppkg.Spec, b.Outer, b.takeStdio},
		{steppkg.Network, b.Outer, b.openNetwork},
		{steppkg.Network, b.Outer, b.limitNetwork},
		{"mounts", b.Outer, b.detachOldRoot},
	}
}

// RestrictSteps returns the steps that restrict the init, the server and the supervisor.
func (b *Builder) RestrictSteps() []Step {
	return []Step{
		{steppkg.Namespaces, b.Init, func() error { return stub.Setns(b.Init, b.network, unix.CLONE_NEWNET) }},
		{"mounts", b.Init, b.sealProc},
		{steppkg.Capabilities, b.Init, func() error { return dropHeld(b.Init) }}, // no later step of init needs one
		{"no_new_privs", b.Init, func() error { return SetNoNewPrivs(b.Init) }},
		{"parent", b.Init, func() error { _, err := stub.Prctl(b.Init, unix.PR_SET_DUMPABLE, 0); return err }}, // changing credentials may have set it
		{"seccomp", b.Init, func() error { return b.filter(b.Init) }},
		{steppkg.Server, b.Init, b.forkParent}, // it and the server inherit all of the above; the kernel compiles the filter once
		{steppkg.Server, b.Parent, b.forkServer},
		{steppkg.Server, b.Server, func() error { return steppkg.On("session", stub.Setsid(b.Server)) }},
		{"descriptors", b.Server, b.openNull}, // before the limit of open files
		{"limits", b.Server, b.limitServer},
		{"directory", b.Server, b.EnterDir},
		{"seccomp", b.Server, b.guardServer},
		{"landlock", b.Server, b.landlock},
		{"self-test", b.Server, b.SelfTest},
		{"umask", b.Server, func() error { stub.Umask(b.Server, b.Umask); return nil }},
		{steppkg.Network, b.Outer, b.passNetwork},
		{steppkg.SupervisorCapabilities, b.Outer, b.keepPtraceOnly},
		{"no_new_privs", b.Outer, func() error { return SetNoNewPrivs(b.Outer) }},
		{steppkg.Supervision, b.Server, b.passListener},
		{steppkg.Supervision, b.Server, b.CheckTracing},
	}
}

// Run runs steps. It collects the steps of each task in a batch, and the batches run side by
// side. A task that does not exist yet finds its batch when it is forked. With a stepwise
// stub Run makes each call at once.
func (b *Builder) Run(steps []Step) error {
	if b.TestHooks.Steps != nil {
		steps = b.TestHooks.Steps(b, steps)
	}
	if b.Stub.IsStepwise() {
		return RunSteps(steps)
	}
	for _, t := range []*stub.Task{b.Server, b.Parent, b.Init} {
		if err := b.collect(t, steps); err != nil {
			return err
		}
	}
	for _, t := range []*stub.Task{b.Server, b.Parent, b.Init} {
		if err := t.Submit(); err != nil {
			return err
		}
	}
	if err := b.collect(b.Outer, steps); err != nil {
		return err
	}
	return b.Outer.Submit()
}

func (b *Builder) collect(t *stub.Task, steps []Step) error {
	if err := t.Wait(); err != nil {
		return err
	}
	t.Begin()
	for _, step := range steps {
		if step.Task != t {
			continue
		}
		if err := step.Run(); err != nil {
			return WrapStep(step.Name, err)
		}
	}
	return nil
}

// Settle waits for the batches of all tasks.
func (b *Builder) Settle() error {
	for _, t := range []*stub.Task{b.Init, b.Outer, b.Parent, b.Server} {
		if err := t.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// RunSteps runs steps one after the other.
func RunSteps(steps []Step) error {
	for _, step := range steps {
		if err := step.Run(); err != nil {
			return WrapStep(step.Name, err)
		}
	}
	return nil
}

// WrapStep returns err as a sys.Error, which a StartError shows.
func WrapStep(step string, err error) error { return steppkg.Wrap(step, err) }

func (b *Builder) mounts() error {
	if err := b.Root.build(); err != nil {
		return err
	}
	return b.nameHost()
}

// nameHost gives the jail a host name of its own. The default filters of Podman and CRI-O refuse
// that inside a user namespace: the jail then has the container's name.
func (b *Builder) nameHost() error {
	outcome := b.Init.Optional(func() error { return stub.Sethostname(b.Init, "mcp-jail") })
	return b.Init.OnComplete(func() error {
		err := outcome()
		if !errors.Is(err, unix.EPERM) {
			return steppkg.On("hostname", err)
		}
		b.Send(spec.Event{Kind: spec.EventNote, Detail: "the server sees the name of this machine: a seccomp filter around mcp-jail refuses sethostname"})
		return nil
	})
}

// SignalPivoted allows detachOldRoot to continue.
func (b *Builder) SignalPivoted() error {
	if !b.Init.Batching() {
		return nil
	}
	return stub.SetEvent(b.Init, b.Pivoted)
}

func (b *Builder) sealProc() error {
	err := b.Root.sealProc()
	for _, n := range b.Root.Notes {
		b.Send(spec.Event{Kind: spec.EventNote, Detail: n})
	}
	b.Root.Notes = nil
	return err
}

// forkParent forks the parent of the server. To a server that is a child of process 1, its client seems to
// have died: see startReaper.
func (b *Builder) forkParent() (err error) {
	b.parent, err = b.Init.Fork(b.Parent, unix.CLONE_FILES, &b.parentPidfd)
	return err
}

// forkServer forks the process that becomes the server. That process shares the table of
// descriptors with the other tasks until StartServer, so that they get the filter's listener.
func (b *Builder) forkServer() (err error) {
	b.pid, err = b.Parent.Fork(b.Server, unix.CLONE_FILES, &b.pidfd)
	return err
}

func (b *Builder) limitServer() error {
	if b.Spec.Limits.OpenFiles <= 0 {
		if err := stub.Setrlimit(b.Server, unix.RLIMIT_NOFILE, &b.nofile); err != nil {
			return steppkg.On("open_files", err)
		}
	}
	if err := b.LimitSignals(); err != nil {
		return err
	}
	return b.ApplyLimits()
}

// openNull opens the jail's /dev/null for the nil files of stdio. The server must not get a
// descriptor of the host's /dev/null, with which it could change the mode or the owner.
func (b *Builder) openNull() (err error) {
	if b.Ahead || slices.Contains(b.stdio.all(), nil) {
		b.null, err = stub.Openat(b.Server, unix.AT_FDCWD, os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	return steppkg.On(os.DevNull, err)
}

// guardServer keeps the server from what the init and the supervisor may do. The init and the server belong to
// the same user, and the filter allows scheduling calls in a PID namespace. The supervisor is in the outer PID
// namespace, where the server cannot name it.
func (b *Builder) guardServer() error {
	_, err := seccomp.Install(b.Server, serverGuard(), 0)
	return err
}

var serverGuard = sync.OnceValue(func() []byte {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	filter, err := seccomp.CompileServerGuard(arch)
	if err != nil {
		return nil // seccomp.Install refuses an empty filter
	}
	return seccomp.Records(filter)
})

func (b *Builder) landlock() error { return stub.LandlockRestrictSelf(b.Server, b.Ruleset) }

func (b *Builder) filter(t *stub.Task) error {
	_, err := seccomp.Install(t, b.Spec.Seccomp, 0)
	return err
}

// passListener installs the filter for mediated calls. It comes after the self-test, whose
// calls would otherwise wait for the supervisor.
func (b *Builder) passListener() (err error) {
	if len(b.Spec.ListenerFilter) > 0 {
		b.Listener, err = seccomp.Install(b.Server, b.Spec.ListenerFilter, ListenerFlags)
	}
	return err
}

// ListenerFlags are the flags of the filter for mediated calls.
const ListenerFlags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
