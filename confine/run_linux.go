package confine

import (
	"encoding/binary"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// runNamespaced builds a jail with namespaces, starts the server and waits for its end. used is
// false if the init was cancelled.
func (s *Prepared) runNamespaced(status *os.File) (used bool, err error) {
	defer status.Close()
	p := s.process
	b := s.newBuilder()
	scoped := s.pending != nil && s.pending.plan.Cgroup.Manager != ""
	if scoped {
		if err := s.limitCgroup(s.pending.plan); err != nil {
			return true, err
		}
	}
	failed := b.Run(b.FirstSteps())
	todo, used := s.awaitRequest()
	if !used {
		return false, nil
	}
	shared, _ := proc.SharedMemory("/proc") // while the stub is at work
	if failed != nil {
		return true, failed
	}
	if todo.spec.HostNS { // a plan for the other kind of jail must not be carried out here
		return true, jail.WrapStep(step.Spec, spec.ErrSpec)
	}
	if !scoped {
		if err := s.limitCgroupLate(todo.plan); err != nil {
			return true, err
		}
	}
	p.inCgroup = s.cgroup != nil // before the first event of its init
	defer s.watchCgroup()()
	b.SetSpec(todo.spec, todo.stdio)
	b.Spec.Shared = int(shared)
	if todo.spec.Program == "" {
		return s.tryOverlays(b)
	}
	if err := b.Build(); err != nil {
		return true, err
	}
	if err := b.StartServer(); err != nil {
		return true, err
	}
	events, err := newEventReader(status, p.handleEvent)
	if err != nil {
		return true, err
	}
	p.mu.Lock()
	p.events = events
	p.mu.Unlock()
	s.started <- nil
	go sendSpec(b, status)
	drained := make(chan struct{})
	go func() { defer close(drained); events.run() }()
	if exit, err := b.Reap(); err == nil {
		p.stopSupervisor(drained)
		p.handleEvent(exit)
	} else {
		waitForEvents(drained) // the supervisor may have sent the reason
		p.recordFailure(failureCause(b))
	}
	return true, nil
}

// tryOverlays tries to mount an overlay and starts nothing.
func (s *Prepared) tryOverlays(b *jail.Builder) (used bool, err error) {
	err = b.Settle()
	if err == nil {
		err = b.Run(b.MountSteps()[:2])
	}
	if err == nil {
		err = b.Settle()
	}
	if err == nil {
		s.started <- nil
	}
	return err != nil, err
}

func (s *Prepared) newBuilder() *jail.Builder {
	b := &jail.Builder{Control: s.process.control, Serve: func() error { return s.process.openGateway(func() {}) }, TestHooks: s.testHooks, Stub: s.stub, Listener: -1, Outer: s.stub.First()}
	b.Restrictor = jail.Restrictor{
		Init: b.Outer.Child(1), Server: b.Outer.Child(2), Send: s.process.handleEvent, End: func() { s.process.Kill() }, Umask: spec.UnknownUmask,
	}
	if s.umask != nil {
		b.Umask = *s.umask & 0o777
	}
	b.Pivoted, b.ExecAllowed = s.stub.NewEvent(), s.stub.NewEvent()
	b.Root.Task, b.Root.PrivateFS.Task, b.Root.SignalPivoted = b.Init, b.Init, b.SignalPivoted
	return b
}

// sendSpec writes the spec for the supervisor, which reads it when it starts.
func sendSpec(b *jail.Builder, status *os.File) {
	if b.Listener < 0 {
		b.Spec.ListenerFilter = nil
	}
	encoded := b.Spec.Encode()
	status.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(encoded))), encoded...))
}
