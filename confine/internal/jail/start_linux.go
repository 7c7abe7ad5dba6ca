package jail

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHooks change how jails are built. Only tests set them.
type TestHooks struct {
	Batched bool                          // with Steps: the first attempt is made in batches, not stepwise
	Steps   func(*Builder, []Step) []Step // replaces the steps of one Run
	// Executed, if it is not nil, is called after the server was executed, and before StartServer returns.
	Executed func(*Builder)
}

// SetSpec sets the spec and the server's files. It copies the mounts, which building changes,
// because other starts may use the same plan.
func (b *Builder) SetSpec(sp spec.Spec, stdio Stdio) {
	b.stdio, b.Spec = stdio, &sp
	b.Spec.Mounts = append([]spec.Mount(nil), b.Spec.Mounts...)
	b.Root.Spec = b.Spec
}

// Build builds the jail, up to the execution of the server.
func (b *Builder) Build() error {
	for _, steps := range [][]Step{b.MountSteps(), b.RestrictSteps()} {
		if err := b.Run(steps); err != nil {
			return err
		}
	}
	if err := b.Settle(); err != nil {
		return err
	}
	return b.Serve()
}

// TakeStdio gives the server's files to a jail that was built ahead.
func (b *Builder) TakeStdio(stdio Stdio) error {
	b.stdio, b.Ahead = stdio, false
	if err := b.Run([]Step{{sys.Spec, b.Outer, b.takeStdio}}); err != nil {
		return err
	}
	return b.Settle()
}

// StartServer executes the server, and leaves a batch that executes the supervisor later. From
// here on each task runs its last batch without the launcher.
func (b *Builder) StartServer() error {
	if err := b.execSupervisor(); err != nil {
		return WrapStep(sys.Supervision, err)
	}
	if err := b.startReaper(); err != nil {
		return WrapStep("init", err)
	}
	fds, err := sys.ParseRights(b.stdioRights)
	if err != nil {
		return WrapStep(sys.Spec, err)
	}
	t := b.Server
	t.BeginAlways()
	// From here on the server has a descriptor table of its own.
	stub.CloseRange(t, 3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC|unix.CLOSE_RANGE_UNSHARE)
	for fd, f := range b.stdio.all() {
		if f == nil {
			stub.Dup3(t, b.null, fd, 0)
			continue
		}
		if len(fds) == 0 {
			return WrapStep(sys.Spec, spec.ErrSpec)
		}
		stub.Dup3(t, fds[0], fd, 0)
		fds = fds[1:]
	}
	t.Optional(func() error { return stub.ReserveFD(t, sys.FDTableTarget(3)) }) // fails if the limit is lower
	if b.Listener < 0 {
		stub.SetEvent(t, b.ExecAllowed)
	}
	stub.Exec(t, b.Spec.Program, b.Spec.Argv, b.Spec.Env)
	if err := t.Submit(); err != nil {
		return WrapStep(sys.Exec, sys.On(b.Spec.Program, unix.E2BIG))
	}
	err = t.WaitExec()
	if b.TestHooks.Executed != nil {
		b.TestHooks.Executed(b)
	}
	var failed *stub.CallError
	switch {
	case errors.As(err, &failed) && failed.Call == unix.SYS_EXECVE:
		return WrapStep(sys.Exec, sys.On(b.Spec.Program, failed.Errno))
	case errors.As(err, &failed):
		return WrapStep("descriptors", failed.Errno)
	case err != nil:
		return WrapStep("init", err)
	case b.Listener >= 0 && !b.Init.LauncherWaitEvent(b.ExecAllowed), b.Init.Ended():
		return endedEarly()
	}
	return nil
}

func endedEarly() error {
	return &sys.Error{Step: "init", Detail: "the jail was ended before its server was executed" + stub.EndedBy}
}

// execSupervisor has outer continue the server's execve and then execute the supervisor. Outer
// executes it when the next mediated call or a message of the launcher arrives, or the init ends.
// At the latest it does so after supervisorDelay, because the supervisor samples the limits. The
// delay keeps the start of a Go program away from the start of the server.
func (b *Builder) execSupervisor() error {
	t := b.Outer
	t.BeginAlways()
	events := []int{spec.ControlFD, b.initPidfd}
	if b.Listener >= 0 {
		events = append(events, b.Listener)
		stub.Poll(t, -1, b.Listener) // for the server's execve, or the end of the server
		stub.ContinueNext(t, b.Listener, seccomp.NotifRecv, seccomp.NotifSend, int(unsafe.Sizeof(seccomp.Notification{})), seccomp.NotifContinue)
		stub.SetEvent(t, b.ExecAllowed)
	} else {
		stub.WaitEvent(t, b.ExecAllowed) // the server has a descriptor table of its own
	}
	if b.Listener >= 0 {
		stub.PollUnused(t, supervisorDelay(b.Spec.Limits), endDelay, events...)
	} else {
		stub.Poll(t, supervisorDelay(b.Spec.Limits), events...)
	}
	// Not earlier: a jail that ends before needs no supervisor, and the kernel would compile the filter for nothing.
	if err := b.filter(t); err != nil {
		return err
	}
	stub.Unshare(t, unix.CLONE_FS)
	if b.proc >= 0 {
		stub.Fchdir(t, b.proc)
	}
	b.placeFDs(t)
	return t.SubmitFatal()
}

func (b *Builder) placeFDs(t *stub.Task) {
	from := [...]int{
		spec.SpecFD: spec.ControlFD, spec.EventsFD: spec.StubEventsFD, spec.ListenerFD: b.Listener, spec.RulesetFD: b.WorkerRuleset, spec.ServerFD: b.pidfd, spec.ProcFD: b.proc, spec.ExeFD: spec.StubExeFD,
	}
	for to := spec.SpecFD; to < len(from); to++ {
		if from[to] >= 0 {
			from[to], _ = stub.FcntlInt(t, from[to], unix.F_DUPFD_CLOEXEC, len(from))
		}
	}
	for to := spec.SpecFD; to < len(from); to++ {
		if from[to] >= 0 {
			stub.Dup3(t, from[to], to, 0)
		} else {
			stub.CloseRange(t, uint(to), uint(to), 0)
		}
	}
	stub.CloseRange(t, uint(len(from)), ^uint(0), 0)
	stub.ExecAt(t, spec.ExeFD, []string{spec.SupervisorName, strconv.FormatInt(int64(b.Umask), 8), spec.ArgSupervise}, []string{"GOMAXPROCS=" + strconv.Itoa(spec.MaxProcs)})
}

// startReaper has the init reap its children until the server ends. When the init ends, the
// kernel kills the other processes of the jail. The server's parent waits for the end of the server, does
// not reap it, and exits. So the init gets the server with its status, in the same moment as the parent.
func (b *Builder) startReaper() error {
	p := b.Parent
	p.BeginAlways()
	stub.CloseRange(p, 0, ^uint(0), unix.CLOSE_RANGE_UNSHARE)
	stub.WaitChild(p)
	stub.Exit(p)
	if err := p.SubmitFatal(); err != nil {
		return err
	}
	t := b.Init
	t.BeginAlways()
	stub.CloseRange(t, 0, ^uint(0), unix.CLOSE_RANGE_UNSHARE)
	t.RepeatUntil(t.Resolve(b.pid))
	stub.Wait4(t, -1, &b.status, 0)
	return t.SubmitFatal()
}

// endDelay is how long, in milliseconds, outer does not execute the supervisor when no task of the server is
// left. Usually the launcher ends the jail meanwhile.
const endDelay = 100

// Reap waits for the end of the server and returns its exit event.
func (b *Builder) Reap() (spec.Event, error) {
	if err := b.Init.WaitLong(); err != nil {
		return spec.Event{}, err
	}
	m := ExitEvent(b.status)
	if reapAll(b.Init) {
		m.Detail = spec.ExitedAlone
	}
	return m, nil
}

// supervisorDelay returns after how many milliseconds the supervisor starts if nothing needs it
// earlier. If the user has lowered a limit, the supervisor starts sooner, so that it can
// report that the limit was reached.
func supervisorDelay(l policy.Limits) int {
	lowered := func(limit, usual int) bool { return limit > 0 && limit < usual }
	if lowered(l.Processes, policy.DefaultLimits.Processes) || lowered(l.MemoryMB, policy.DefaultLimits.MemoryMB) {
		return 10
	}
	return 100
}

// ExitEvent returns the event for a wait status.
func ExitEvent(ws syscall.WaitStatus) spec.Event {
	if ws.Signaled() {
		return spec.Event{Kind: spec.EventExit, Num: 128 + int(ws.Signal()), Pid: int(ws.Signal())}
	}
	return spec.Event{Kind: spec.EventExit, Num: ws.ExitStatus()}
}

// reapAll reaps all ended children of the init and reports whether the init has no other
// child. Orphans become its children. WALL includes children with another exit signal.
func reapAll(t *stub.Task) bool {
	for {
		pid, err := stub.Wait4(t, -1, nil, syscall.WNOHANG|syscall.WALL)
		switch {
		case err == syscall.ECHILD:
			return true
		case err == nil && pid == 0, err != nil && err != syscall.EINTR:
			return false
		}
	}
}
