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
	Steps func(*JailBuilder, []BuildStep) []BuildStep
}

// take takes an order. The plan is not this start's alone.
func (b *JailBuilder) Take(o spec.Order, stdio Stdio) {
	b.stdio, b.Order = stdio, &o
	b.Order.Mounts = append([]spec.MountOp(nil), b.Order.Mounts...)
	b.Root.Order = b.Order
}

// build builds the jail, up to the execution of the server.
func (b *JailBuilder) Build() error {
	for _, steps := range [][]BuildStep{b.Mounting(), b.Restricting()} {
		if err := b.CarryOut(steps); err != nil {
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
func (b *JailBuilder) Begin() error {
	if err := b.relieveOuter(); err != nil {
		return WrapStep(step.Supervision, err)
	}
	if err := b.leaveToReap(); err != nil {
		return WrapStep("init", err)
	}
	fds, err := sys.ParseRights(b.lent)
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
			return WrapStep("order", spec.ErrOrder)
		}
		t.Dup3(fds[0], fd, 0)
		fds = fds[1:]
	}
	t.Optional(func() error { return t.ReserveFD(sys.FDTableTarget(3)) }) // which may be more than may be open
	if b.Listener < 0 {
		t.SetEvent(b.Proceeded)
	}
	t.Exec(b.Order.Program, b.Order.Argv, b.Order.Env)
	if err := t.Submit(); err != nil {
		return WrapStep(step.Exec, step.On(b.Order.Program, unix.E2BIG))
	}
	err = t.WaitExec()
	var failed *stub.CallError
	switch {
	case errors.As(err, &failed) && failed.Call == unix.SYS_EXECVE:
		return WrapStep(step.Exec, step.On(b.Order.Program, failed.Errno))
	case errors.As(err, &failed):
		return WrapStep("descriptors", failed.Errno)
	case err != nil:
		return WrapStep("init", err)
	case b.Listener >= 0 && !b.Init.HostWaitEvent(b.Proceeded), b.Init.Ended():
		return endedEarly()
	}
	return nil
}

func endedEarly() error {
	return &step.Error{Step: "init", Detail: "the jail was ended before its server was executed" + stub.EndedBy}
}

// relieveOuter has outer let the server's execution pass, and become the supervisor as soon
// as there is something to be decided, or passed on: at the latest after a while, for the
// limits have to be watched. Until then the start need not share the processors with a
// program of Go's.
func (b *JailBuilder) relieveOuter() error {
	t := b.Outer
	t.BeginAlways()
	events := []int{spec.ControlFD, b.initPidfd}
	if b.Listener >= 0 {
		events = append(events, b.Listener)
		t.Poll(-1, b.Listener) // the server may end before it comes to that
		t.ContinueNext(b.Listener, seccomp.NotifRecv, seccomp.NotifSend, int(unsafe.Sizeof(seccomp.Notification{})), seccomp.NotifContinue)
		t.SetEvent(b.Proceeded)
	} else {
		t.WaitEvent(b.Proceeded) // the server has a table of its own, and its descriptors
	}
	if err := b.filter(t); err != nil {
		return err
	}
	t.Poll(unsupervised(b.Order.Limits), events...)
	t.Unshare(unix.CLONE_FS)
	if b.proc >= 0 {
		t.Fchdir(b.proc)
	}
	b.arrange(t)
	return t.SubmitFatal()
}

// arrange gives the descriptors of the supervisor the numbers that it expects.
func (b *JailBuilder) arrange(t *stub.Task) {
	from := [...]int{
		spec.OrderFD: spec.ControlFD, spec.StatusFD: spec.WordsFD, spec.ListenerFD: b.Listener, spec.MakingFD: b.Making, spec.ServerFD: b.pidfd, spec.ProcFD: b.proc, spec.SuperviseFD: spec.SelfFD,
	}
	for to := spec.OrderFD; to < len(from); to++ {
		if from[to] >= 0 {
			from[to], _ = t.FcntlInt(from[to], unix.F_DUPFD_CLOEXEC, len(from))
		}
	}
	for to := spec.OrderFD; to < len(from); to++ {
		if from[to] >= 0 {
			t.Dup3(from[to], to, 0)
		} else {
			t.CloseRange(uint(to), uint(to), 0)
		}
	}
	t.CloseRange(uint(len(from)), ^uint(0), 0)
	t.ExecAt(spec.SuperviseFD, []string{spec.ShimName, strconv.FormatInt(int64(b.Umask), 8), spec.ArgSupervise}, []string{"GOMAXPROCS=" + strconv.Itoa(spec.RunsAtOnce)})
}

// leaveToReap has the init wait for every child of its that ends, until the server does.
// What is left is killed by the kernel when the init ends.
func (b *JailBuilder) leaveToReap() error {
	t := b.Init
	t.BeginAlways()
	t.CloseRange(0, ^uint(0), unix.CLOSE_RANGE_UNSHARE)
	t.RepeatUntil(t.Resolve(b.pid))
	t.Wait4(-1, &b.status, 0)
	return t.SubmitFatal()
}

// reap waits until the server has ended.
func (b *JailBuilder) Reap() (spec.Message, error) {
	if err := b.Init.WaitLong(); err != nil {
		return spec.Message{}, err
	}
	m := ExitMessage(b.status)
	if childless(b.Init) {
		m.Detail = spec.ExitedAlone
	}
	return m, nil
}

// unsupervised is for how long, in milliseconds, there is no supervisor unless one is
// needed. Who has lowered a limit expects that it is reached, and wants to be told.
func unsupervised(l policy.Limits) int {
	lowered := func(limit, usual int) bool { return limit > 0 && limit < usual }
	if lowered(l.Processes, policy.DefaultLimits.Processes) || lowered(l.MemoryMB, policy.DefaultLimits.MemoryMB) {
		return 10
	}
	return 100
}
