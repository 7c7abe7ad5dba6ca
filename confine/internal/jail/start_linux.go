package jail

import (
	"errors"
	"strconv"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// testHooks is what tests change about how jails are built. Production code has none.
type TestHooks struct {
	Lists bool // jails are built by lists all the same
	Steps func(*Builder, []Step) []Step
}

// take takes an order. The plan is not this start's alone.
func (b *Builder) SetSpec(o spec.Spec, stdio Stdio) {
	b.stdio, b.Spec = stdio, &o
	b.Spec.Mounts = append([]spec.Mount(nil), b.Spec.Mounts...)
	b.Root.Spec = b.Spec
}

// build builds the jail, up to the execution of the server.
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

// begin has the server executed, and the supervisor some time later. From here on all is
// done by lists, which nobody need tell of one another.
func (b *Builder) StartServer() error {
	if err := b.execSupervisor(); err != nil {
		return WrapStep(step.Supervision, err)
	}
	if err := b.startReaper(); err != nil {
		return WrapStep("init", err)
	}
	fds, err := sys.ParseRights(b.stdioRights)
	if err != nil {
		return WrapStep("order", err)
	}
	t := b.Server
	t.BeginAlways()
	// The server's table is its own from here on.
	t.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC|unix.CLOSE_RANGE_UNSHARE)
	for fd, f := range b.stdio.all() {
		if f == nil {
			t.Dup3(b.null, fd, 0)
			continue
		}
		if len(fds) == 0 {
			return WrapStep("order", spec.ErrSpec)
		}
		t.Dup3(fds[0], fd, 0)
		fds = fds[1:]
	}
	t.Optional(func() error { return t.ReserveFD(sys.FDTableTarget(3)) }) // which may be more than may be open
	if b.Listener < 0 {
		t.SetEvent(b.ExecAllowed)
	}
	t.Exec(b.Spec.Program, b.Spec.Argv, b.Spec.Env)
	if err := t.Submit(); err != nil {
		return WrapStep(step.Exec, step.On(b.Spec.Program, unix.E2BIG))
	}
	err = t.WaitExec()
	var failed *stub.CallError
	switch {
	case errors.As(err, &failed) && failed.Call == unix.SYS_EXECVE:
		return WrapStep(step.Exec, step.On(b.Spec.Program, failed.Errno))
	case errors.As(err, &failed):
		return WrapStep("descriptors", failed.Errno)
	case err != nil:
		return WrapStep("init", err)
	case b.Listener >= 0 && !b.Init.HostWaitEvent(b.ExecAllowed), b.Init.Ended():
		return endedEarly()
	}
	return nil
}

func endedEarly() error {
	return &step.Error{Step: "init", Detail: "the jail was ended before its server was executed" + stub.EndedBy}
}

// execSupervisor has outer let the server's execution pass, and become the supervisor as soon
// as there is something to be decided, or passed on: at the latest after a while, for the
// limits have to be watched. Until then the start need not share the processors with a
// program of Go's.
func (b *Builder) execSupervisor() error {
	t := b.Outer
	t.BeginAlways()
	events := []int{spec.ControlFD, b.initPidfd}
	if b.Listener >= 0 {
		events = append(events, b.Listener)
		t.Poll(-1, b.Listener) // the server may end before it comes to that
		t.ContinueNext(b.Listener, seccomp.NotifRecv, seccomp.NotifSend, int(unsafe.Sizeof(seccomp.Notification{})), seccomp.NotifContinue)
		t.SetEvent(b.ExecAllowed)
	} else {
		t.WaitEvent(b.ExecAllowed) // the server has a table of its own, and its descriptors
	}
	if err := b.filter(t); err != nil {
		return err
	}
	t.Poll(supervisorDelay(b.Spec.Limits), events...)
	t.Unshare(unix.CLONE_FS)
	if b.proc >= 0 {
		t.Fchdir(b.proc)
	}
	b.placeFDs(t)
	return t.SubmitFatal()
}

// placeFDs gives the descriptors of the supervisor the numbers that it expects.
func (b *Builder) placeFDs(t *stub.Task) {
	from := [...]int{
		spec.SpecFD: spec.ControlFD, spec.EventsFD: spec.StubEventsFD, spec.ListenerFD: b.Listener, spec.RulesetFD: b.WorkerRuleset, spec.ServerFD: b.pidfd, spec.ProcFD: b.proc, spec.ExeFD: spec.StubExeFD,
	}
	for to := spec.SpecFD; to < len(from); to++ {
		if from[to] >= 0 {
			from[to], _ = t.FcntlInt(from[to], unix.F_DUPFD_CLOEXEC, len(from))
		}
	}
	for to := spec.SpecFD; to < len(from); to++ {
		if from[to] >= 0 {
			t.Dup3(from[to], to, 0)
		} else {
			t.CloseRange(uint(to), uint(to), 0)
		}
	}
	t.CloseRange(uint(len(from)), ^uint(0), 0)
	t.ExecAt(spec.ExeFD, []string{spec.SupervisorName, strconv.FormatInt(int64(b.Umask), 8), spec.ArgSupervise}, []string{"GOMAXPROCS=" + strconv.Itoa(spec.MaxProcs)})
}

// startReaper has the init wait for every child of its that ends, until the server does.
// What is left is killed by the kernel when the init ends.
func (b *Builder) startReaper() error {
	t := b.Init
	t.BeginAlways()
	t.CloseRange(0, ^uint(0), unix.CLOSE_RANGE_UNSHARE)
	t.RepeatUntil(t.Resolve(b.pid))
	t.Wait4(-1, &b.status, 0)
	return t.SubmitFatal()
}

// reap waits until the server has ended.
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

// supervisorDelay is for how long, in milliseconds, there is no supervisor unless one is
// needed. Who has lowered a limit expects that it is reached, and wants to be told.
func supervisorDelay(l policy.Limits) int {
	lowered := func(limit, usual int) bool { return limit > 0 && limit < usual }
	if lowered(l.Processes, policy.DefaultLimits.Processes) || lowered(l.MemoryMB, policy.DefaultLimits.MemoryMB) {
		return 10
	}
	return 100
}
