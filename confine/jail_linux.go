package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// lead builds a jail with namespaces, starts the server, and sees to its end. used is
// false where nothing was to be started.
func (s *Shim) lead(status *os.File) (used bool, err error) {
	defer status.Close()
	p := s.Process
	b := s.builder()
	scoped := s.todo != nil && s.todo.plan.Place.Manager != ""
	if scoped {
		if err := s.limitCgroup(s.todo.plan); err != nil {
			return true, err
		}
	}
	failed := b.CarryOut(b.First())
	todo, used := s.order()
	if !used {
		return false, nil
	}
	shared, _ := proc.SharedMemory("/proc") // while the stub is at work
	if failed != nil {
		return true, failed
	}
	if todo.order.Bare { // a plan for the other sort of jail must not be carried out here
		return true, jail.WrapStep("order", spec.ErrOrder)
	}
	if !scoped {
		if err := s.limitLate(todo.plan); err != nil {
			return true, err
		}
	}
	p.leaves = s.Cgroup != nil // before anybody hears its init
	defer s.watchCgroup()()
	b.Take(todo.order, todo.stdio)
	b.Order.Shared = int(shared)
	if todo.order.Program == "" {
		return s.tryCopies(b)
	}
	if err := b.Build(); err != nil {
		return true, err
	}
	if err := b.Begin(); err != nil {
		return true, err
	}
	words, err := newWords(status, p.Record)
	if err != nil {
		return true, err
	}
	p.Mu.Lock()
	p.words = words
	p.Mu.Unlock()
	s.started <- nil
	go tellOrder(b, status)
	heard := make(chan struct{})
	go func() { defer close(heard); words.listen() }()
	if exit, err := b.Reap(); err == nil {
		p.relieve(heard)
		p.Record(exit)
	} else {
		hearOut(heard) // who ended it may have said why
		p.lost(whyLost(b))
	}
	return true, nil
}

// tryCopies answers whether there can be a copy.
func (s *Shim) tryCopies(b *jail.JailBuilder) (used bool, err error) {
	err = b.Settle()
	if err == nil {
		err = b.CarryOut(b.Mounting()[:2])
	}
	if err == nil {
		err = b.Settle()
	}
	if err == nil {
		s.started <- nil
	}
	return err != nil, err
}

func (s *Shim) builder() *jail.JailBuilder {
	b := &jail.JailBuilder{Control: s.Process.control, Serve: func() error { return s.Process.openGate(func() {}) }, Hooks: s.testHooks, Stub: s.stub, Listener: -1, Outer: s.stub.First()}
	b.Builder = jail.Builder{
		Init: b.Outer.Child(1), Server: b.Outer.Child(2), Say: s.Process.Record, End: func() { s.Process.Kill() }, Umask: spec.UnknownUmask,
	}
	if s.umask != nil {
		b.Umask = *s.umask & 0o777
	}
	b.Turned, b.Proceeded = s.stub.NewEvent(), s.stub.NewEvent()
	b.Root.T, b.Root.Own.T, b.Root.Turned = b.Init, b.Init, b.Turn
	return b
}

// lastWords is for how long a supervisor is listened to when the server has ended.
const lastWords = time.Second

// relieve has a supervisor tell what it has not told yet.
func (p *Process) relieve(heard <-chan struct{}) {
	p.words.catchUp()
	if !p.IsSupervised() {
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
func whyLost(b *jail.JailBuilder) string {
	var call *stub.CallError
	if errors.As(b.Outer.Fatal(), &call) {
		return (&step.Error{Step: step.Supervision, Errno: call.Errno}).Error()
	}
	return LostJail
}

const LostJail = "its init or its supervisor was ended, by somebody's SIGKILL or by the kernel for want of memory (dmesg tells), or could not start for want of processes (ulimit -u, a container's limit), which the server may have taken"

// tellOrder tells the supervisor what it is to do, when there is one.
func tellOrder(b *jail.JailBuilder, status *os.File) {
	if b.Listener < 0 {
		b.Order.Hooks = nil
	}
	order := b.Order.Encode()
	status.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(order))), order...))
}
