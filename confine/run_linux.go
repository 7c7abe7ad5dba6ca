package confine

import (
	"encoding/binary"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/reported"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// runNamespaced builds a jail with namespaces, starts the server and waits for its end. used is
// false if the jail was cancelled.
func (p *starter) runNamespaced(events *os.File) (used bool, err error) {
	defer events.Close()
	process := p.process
	b := p.newBuilder()
	scoped := p.pending != nil
	if scoped {
		if err := p.limitCgroup(p.pending.plan); err != nil {
			return true, err
		}
	}
	failed := b.Run(b.FirstSteps())
	todo, used := p.awaitRequest()
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
	if !scoped && !todo.plan.Cgroup.None() {
		return true, errNotInCgroup
	}
	process.inCgroup = p.cgroup != nil // before the first event of the jail
	defer p.watchCgroup()()
	b.SetSpec(todo.spec, todo.stdio)
	b.Spec.Shared = int(shared)
	if todo.spec.Program == "" {
		return p.tryOverlays(b)
	}
	if todo, err = p.build(b, todo); todo == nil || err != nil {
		return todo != nil, err
	}
	if err := todo.allowExec(); err != nil {
		return true, err
	}
	if err := b.StartServer(); err != nil {
		return true, reported.Failure(events, err)
	}
	reader, err := p.readEvents(events)
	if err != nil {
		return true, err
	}
	p.started <- nil
	go sendSpec(b, events, todo.keptRights())
	process.awaitEnd(b, reader)
	return true, nil
}

// build builds the jail. If it is built ahead, build waits for the request that starts the server, and returns
// that, or nil if the jail was cancelled.
func (p *starter) build(b *jail.Builder, todo *startRequest) (*startRequest, error) {
	b.Ahead = todo.ahead
	if err := b.Build(); err != nil || !todo.ahead {
		return todo, err
	}
	p.started <- nil
	server, used := p.awaitServer()
	if !used {
		return nil, nil
	}
	return server, b.TakeStdio(server.stdio)
}

func (p *starter) readEvents(events *os.File) (*reported.Reader, error) {
	reader, err := reported.NewReader(events, p.process.handleEvent)
	if err != nil {
		return nil, err
	}
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	p.process.events = reader
	return reader, nil
}

func (p *Process) awaitEnd(b *jail.Builder, events *reported.Reader) {
	drained := make(chan struct{})
	go func() { defer close(drained); events.Run() }()
	if exit, err := b.Reap(); err == nil {
		p.stopSupervisor(drained)
		p.handleEvent(exit)
	} else {
		waitForEvents(drained) // the supervisor may have sent the reason
		p.recordFailure(failureCause(b))
	}
}

func (p *starter) tryOverlays(b *jail.Builder) (used bool, err error) {
	err = b.Settle()
	if err == nil {
		err = b.Run(b.MountSteps()[:2])
	}
	if err == nil {
		err = b.Settle()
	}
	if err == nil {
		p.started <- nil
	}
	return err != nil, err
}

func (p *starter) newBuilder() *jail.Builder {
	b := &jail.Builder{Control: p.process.control, Serve: func() error { return p.process.openNetwork(func() {}) }, TestHooks: p.testHooks, Stub: p.stub, Listener: -1, Outer: p.stub.First()}
	b.Restrictor = jail.Restrictor{
		Init: b.Outer.Child(1), Server: b.Outer.Child(2), Send: p.process.handleEvent, End: func() { p.process.Kill() }, Umask: spec.UnknownUmask,
	}
	if p.umask != nil {
		b.Umask = *p.umask & 0o777
	}
	b.Pivoted, b.ExecAllowed = p.stub.NewEvent(), p.stub.NewEvent()
	b.Root.Task, b.Root.PrivateFS.Task, b.Root.SignalPivoted = b.Init, b.Init, b.SignalPivoted
	return b
}

// sendSpec writes the spec for the supervisor, which reads it when it starts. kept passes the
// descriptors of Launcher.Kept.
func sendSpec(b *jail.Builder, events *os.File, kept []byte) {
	if b.Listener < 0 {
		b.Spec.ListenerFilter = nil
	}
	encoded := b.Spec.Encode()
	length := binary.BigEndian.AppendUint32(nil, uint32(len(encoded)))
	if kept == nil {
		events.Write(append(length, encoded...))
		return
	}
	if unix.Sendmsg(int(events.Fd()), length, kept, nil, unix.MSG_NOSIGNAL) == nil {
		events.Write(encoded)
	}
}
