package confine

import (
	"math"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// lead builds a jail with namespaces, starts the server, and sees to its end. used is
// false where nothing was to be started.
func (s *Shim) lead() (used bool, err error) {
	p := s.process
	b := s.builder()
	s.built = b
	b.init.Record()
	failed := run(b.change(b.prepare()))
	if failed == nil {
		failed = b.init.Run()
		own := &b.root.own
		for _, fd := range []*int{&own.root, &own.dev, &own.pts, &own.proc} {
			*fd = b.init.Real(*fd)
		}
		for name, fd := range own.devices {
			own.devices[name] = b.init.Real(fd)
		}
	}
	todo, used := <-s.orders
	if !used || failed != nil {
		return used, failed
	}
	if err := s.limitCgroup(todo.plan); err != nil {
		return true, err
	}
	p.leaves = s.cgroup != nil // before anybody hears its init
	defer s.watchCgroup()()
	b.take(&todo)
	if todo.order.Program == "" {
		err := run(b.untilCopies())
		if err == nil {
			s.started <- nil
		}
		return err != nil, err
	}
	if err := run(b.change(b.steps())); err != nil {
		return true, err
	}
	if err := b.exec(); err != nil {
		return true, err
	}
	s.started <- nil
	b.settle()
	if exit, err := b.reap(); err == nil {
		b.ended(exit)
	}
	return true, nil
}

func (s *Shim) builder() *jailBuilder {
	p := s.process
	p.heard = &heard{hear: p.record}
	b := &jailBuilder{process: p, pidfd: -1, altered: s.altered, gone: s.gone}
	b.builder = builder{
		init: s.stub.First(), say: p.heard.say, end: func() { p.Kill() }, umask: unknownUmask,
	}
	if s.umask != nil {
		b.umask = *s.umask & 0o777
	}
	b.init.Eager(eager)
	b.root.t, b.root.own.t = b.init, b.init
	b.root.detach = b.detach
	return b
}

// alteration is what tests change about how jails are built. Production code has none.
type alteration struct {
	steps func(*jailBuilder, []buildStep) []buildStep
	watch func(*limitWatch)
}

func (b *jailBuilder) change(steps []buildStep) []buildStep {
	if b.altered.steps != nil {
		return b.altered.steps(b, steps)
	}
	return steps
}

// close is for when the stub has ended.
func (b *jailBuilder) close() {
	b.watching.Wait()
	if b.supervisor != nil {
		b.supervisor.wait()
	}
	b.process.mu.Lock()
	defer b.process.mu.Unlock()
	b.process.server = -1
	unix.Close(b.pidfd)
}

// take takes an order. The plan is not this start's alone.
func (b *jailBuilder) take(todo *instruction) {
	b.stdio, b.order = todo.stdio, &todo.order
	b.order.Mounts = append([]mountOp(nil), b.order.Mounts...)
	b.root.order = b.order
}

// untilCopies are the steps that answer whether there can be a copy.
func (b *jailBuilder) untilCopies() []buildStep { return b.steps()[:3] }

// settle is what is left to be done when the server runs.
func (b *jailBuilder) settle() {
	b.process.mu.Lock()
	b.process.server = b.pidfd
	b.process.mu.Unlock()
	if b.supervisor != nil {
		b.supervisor.startWorker()
	}
	b.watching.Go(b.watchLimits)
}

// letGo closes what the init does not need any more, first of all the server's three
// descriptors: the client must see end-of-file when the server closes its own. It comes
// before the server does, whose calls have the table changed.
func (b *jailBuilder) letGo() error {
	keep := []int{controlFD}
	if b.supervisor != nil {
		keep = append(keep, b.supervisor.handle, b.ruleset, b.making)
	}
	slices.Sort(keep)
	from := 0
	for _, fd := range append(keep, math.MaxInt32) {
		if fd > from {
			if err := b.init.CloseRange(uint(from), uint(fd-1), 0); err != nil {
				return err
			}
		}
		from = fd + 1
	}
	return nil
}

// ended is for when the server has.
func (b *jailBuilder) ended(exit message) {
	if b.supervisor != nil {
		b.supervisor.ledger.tellRest()
	}
	b.say(exit)
	b.process.heard.catchUp()
	b.init.Exit(0)
}

// reap waits for every child of the init that ends, until the server itself does. What
// is left is killed by the kernel when the init ends.
func (b *jailBuilder) reap() (message, error) {
	for {
		var ws syscall.WaitStatus
		pid, err := b.init.Wait4(-1, &ws, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return message{}, err
		case pid == b.pid && (ws.Exited() || ws.Signaled()):
			m := exitMessage(ws)
			if childless(b.init) {
				m.detail = exitedAlone
			}
			return m, nil
		}
	}
}

// seeDeath has everybody return who waits for the stub, when it has ended.
func (s *Shim) seeDeath(pidfd int) {
	defer close(s.gone)
	own, err := unix.FcntlInt(uintptr(pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(own, true)
	}
	if err == nil {
		f := os.NewFile(uintptr(own), "pidfd")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil {
			conn.Read(func(fd uintptr) bool { return readable(int(fd), 0) })
		}
	}
	readable(pidfd, -1) // at once, where the runtime could wait
	s.stub.Died()
}

// heard are messages of the supervisor and others, which are dealt with one after the
// other: some take a look at the host.
type heard struct {
	hear    func(message)
	mu      sync.Mutex
	waiting []message
	turn    sync.Mutex
}

func (h *heard) say(m message) {
	h.mu.Lock()
	h.waiting = append(h.waiting, m)
	first := len(h.waiting) == 1
	h.mu.Unlock()
	if first {
		go h.catchUp()
	}
}

// catchUp deals with everything that was said by now.
func (h *heard) catchUp() {
	h.turn.Lock()
	defer h.turn.Unlock()
	for {
		h.mu.Lock()
		all := h.waiting
		h.waiting = nil
		h.mu.Unlock()
		if all == nil {
			return
		}
		for _, m := range all {
			h.hear(m)
		}
	}
}

// hand is a task of the stub that carries out what this program wants done in the jail
// while the server runs: it is in no Landlock domain.
type hand struct {
	mu sync.Mutex
	t  *stub.Task
}
