package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/policy"
)

// lead builds a jail with namespaces, starts the server, and sees to its end. used is
// false where nothing was to be started.
func (s *Shim) lead(status *os.File) (used bool, err error) {
	defer status.Close()
	p := s.process
	b := s.builder()
	scoped := s.todo != nil && s.todo.plan.place.Manager != ""
	if scoped {
		if err := s.limitCgroup(s.todo.plan); err != nil {
			return true, err
		}
	}
	failed := b.carryOut(b.first())
	todo, used := s.order()
	if !used {
		return false, nil
	}
	shared, _ := sharedMemory("/proc") // while the stub is at work
	if failed != nil {
		return true, failed
	}
	if todo.order.Bare { // a plan for the other sort of jail must not be carried out here
		return true, wrapStep("order", errOrder)
	}
	if !scoped {
		if err := s.limitLate(todo.plan); err != nil {
			return true, err
		}
	}
	p.leaves = s.cgroup != nil // before anybody hears its init
	defer s.watchCgroup()()
	b.take(todo.order, todo.stdio)
	b.order.Shared = int(shared)
	if todo.order.Program == "" {
		return s.tryCopies(b)
	}
	if err := b.build(); err != nil {
		return true, err
	}
	if err := b.begin(); err != nil {
		return true, err
	}
	words, err := newWords(status, p.record)
	if err != nil {
		return true, err
	}
	p.mu.Lock()
	p.words = words
	p.mu.Unlock()
	s.started <- nil
	go tellOrder(b, status)
	heard := make(chan struct{})
	go func() { defer close(heard); words.listen() }()
	if exit, err := b.reap(); err == nil {
		p.relieve(heard)
		p.record(exit)
	} else {
		hearOut(heard) // who ended it may have said why
		p.lost(whyLost(b))
	}
	return true, nil
}

// tryCopies answers whether there can be a copy.
func (s *Shim) tryCopies(b *jailBuilder) (used bool, err error) {
	err = b.settle()
	if err == nil {
		err = b.carryOut(b.mounting()[:2])
	}
	if err == nil {
		err = b.settle()
	}
	if err == nil {
		s.started <- nil
	}
	return err != nil, err
}

func (s *Shim) builder() *jailBuilder {
	b := &jailBuilder{control: s.process.control, serve: func() error { return s.process.openGate(func() {}) }, hooks: s.testHooks, stub: s.stub, listener: -1, outer: s.stub.First()}
	b.builder = builder{
		init: b.outer.Child(1), server: b.outer.Child(2), say: s.process.record, end: func() { s.process.Kill() }, umask: unknownUmask,
	}
	if s.umask != nil {
		b.umask = *s.umask & 0o777
	}
	b.turned, b.proceeded = s.stub.NewEvent(), s.stub.NewEvent()
	b.root.t, b.root.own.t, b.root.turned = b.init, b.init, b.turn
	return b
}

// testHooks is what tests change about how jails are built. Production code has none.
type testHooks struct {
	lists bool // jails are built by lists all the same
	steps func(*jailBuilder, []buildStep) []buildStep
}

// take takes an order. The plan is not this start's alone.
func (b *jailBuilder) take(o order, stdio Stdio) {
	b.stdio, b.order = stdio, &o
	b.order.Mounts = append([]mountOp(nil), b.order.Mounts...)
	b.root.order = b.order
}

// build builds the jail, up to the execution of the server.
func (b *jailBuilder) build() error {
	for _, steps := range [][]buildStep{b.mounting(), b.restricting()} {
		if err := b.carryOut(steps); err != nil {
			return err
		}
	}
	if err := b.settle(); err != nil {
		return err
	}
	return b.serve()
}

// begin has the server executed, and the supervisor some time later. From here on all is
// done by lists, which nobody need tell of one another.
func (b *jailBuilder) begin() error {
	if err := b.relieveOuter(); err != nil {
		return wrapStep(stepSupervision, err)
	}
	if err := b.leaveToReap(); err != nil {
		return wrapStep("init", err)
	}
	fds, err := descriptors(b.lent)
	if err != nil {
		return wrapStep("order", err)
	}
	t := b.server
	t.BeginAlways()
	// The server's table is its own from here on.
	t.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC|unix.CLOSE_RANGE_UNSHARE)
	for fd, f := range b.stdio.all() {
		if f == nil {
			t.Dup3(b.null, fd, 0)
			continue
		}
		if len(fds) == 0 {
			return wrapStep("order", errOrder)
		}
		t.Dup3(fds[0], fd, 0)
		fds = fds[1:]
	}
	t.Optional(func() error { return t.ReserveFD(roomFor(3)) }) // which may be more than may be open
	if b.listener < 0 {
		t.SetEvent(b.proceeded)
	}
	t.Exec(b.order.Program, b.order.Argv, b.order.Env)
	if err := t.Submit(); err != nil {
		return wrapStep(StepExec, on(b.order.Program, unix.E2BIG))
	}
	err = t.WaitExec()
	var failed *stub.CallError
	switch {
	case errors.As(err, &failed) && failed.Call == unix.SYS_EXECVE:
		return wrapStep(StepExec, on(b.order.Program, failed.Errno))
	case errors.As(err, &failed):
		return wrapStep("descriptors", failed.Errno)
	case err != nil:
		return wrapStep("init", err)
	case b.listener >= 0 && !b.init.HostWaitEvent(b.proceeded), b.init.Ended():
		return endedEarly()
	}
	return nil
}

func endedEarly() error {
	return &StartError{Step: "init", Detail: "the jail was ended before its server was executed" + stub.EndedBy}
}

// relieveOuter has outer let the server's execution pass, and become the supervisor as soon
// as there is something to be decided, or passed on: at the latest after a while, for the
// limits have to be watched. Until then the start need not share the processors with a
// program of Go's.
func (b *jailBuilder) relieveOuter() error {
	t := b.outer
	t.BeginAlways()
	events := []int{controlFD, b.initPidfd}
	if b.listener >= 0 {
		events = append(events, b.listener)
		t.Poll(-1, b.listener) // the server may end before it comes to that
		t.ContinueNext(b.listener, notifRecv, notifSend, int(unsafe.Sizeof(notification{})), notifContinue)
		t.SetEvent(b.proceeded)
	} else {
		t.WaitEvent(b.proceeded) // the server has a table of its own, and its descriptors
	}
	if err := b.filter(t); err != nil {
		return err
	}
	t.Poll(unsupervised(b.order.Limits), events...)
	t.Unshare(unix.CLONE_FS)
	if b.proc >= 0 {
		t.Fchdir(b.proc)
	}
	b.arrange(t)
	return t.SubmitFatal()
}

// arrange gives the descriptors of the supervisor the numbers that it expects.
func (b *jailBuilder) arrange(t *stub.Task) {
	from := [...]int{
		orderFD: controlFD, statusFD: wordsFD, listenerFD: b.listener, makingFD: b.making, serverFD: b.pidfd, procFD: b.proc, superviseFD: selfFD,
	}
	for to := orderFD; to < len(from); to++ {
		if from[to] >= 0 {
			from[to], _ = t.FcntlInt(from[to], unix.F_DUPFD_CLOEXEC, len(from))
		}
	}
	for to := orderFD; to < len(from); to++ {
		if from[to] >= 0 {
			t.Dup3(from[to], to, 0)
		} else {
			t.CloseRange(uint(to), uint(to), 0)
		}
	}
	t.CloseRange(uint(len(from)), ^uint(0), 0)
	t.ExecAt(superviseFD, []string{shimName, strconv.FormatInt(int64(b.umask), 8), argSupervise}, []string{"GOMAXPROCS=" + strconv.Itoa(runsAtOnce)})
}

// leaveToReap has the init wait for every child of its that ends, until the server does.
// What is left is killed by the kernel when the init ends.
func (b *jailBuilder) leaveToReap() error {
	t := b.init
	t.BeginAlways()
	t.CloseRange(0, ^uint(0), unix.CLOSE_RANGE_UNSHARE)
	t.RepeatUntil(t.Resolve(b.pid))
	t.Wait4(-1, &b.status, 0)
	return t.SubmitFatal()
}

// reap waits until the server has ended.
func (b *jailBuilder) reap() (message, error) {
	if err := b.init.WaitLong(); err != nil {
		return message{}, err
	}
	m := exitMessage(b.status)
	if childless(b.init) {
		m.detail = exitedAlone
	}
	return m, nil
}

// lastWords is for how long a supervisor is listened to when the server has ended.
const lastWords = time.Second

// relieve has a supervisor tell what it has not told yet.
func (p *Process) relieve(heard <-chan struct{}) {
	p.words.catchUp()
	if !p.isSupervised() {
		return
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	hearOut(heard)
}

func hearOut(heard <-chan struct{}) {
	select {
	case <-heard:
	case <-time.After(lastWords):
	}
}

// whyLost is why there is no jail any more, where the kernel did not refuse a call of the
// supervisor to be.
func whyLost(b *jailBuilder) string {
	var call *stub.CallError
	if errors.As(b.outer.Fatal(), &call) {
		return (&StartError{Step: stepSupervision, Errno: call.Errno}).Error()
	}
	return lostJail
}

const lostJail = "its init or its supervisor was ended, by somebody's SIGKILL or by the kernel for want of memory (dmesg tells), or could not start for want of processes (ulimit -u, a container's limit), which the server may have taken"

// tellOrder tells the supervisor what it is to do, when there is one.
func tellOrder(b *jailBuilder, status *os.File) {
	if b.listener < 0 {
		b.order.Hooks = nil
	}
	order := b.order.encode()
	status.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(order))), order...))
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
