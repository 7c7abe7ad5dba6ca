package confine

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	planpkg "github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
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
	shared, _ := sys.SharedMemory("/proc") // while the stub is at work
	if failed != nil {
		return true, failed
	}
	if todo.spec.HostNS { // a plan for the other kind of jail must not be carried out here
		return true, jail.WrapStep(sys.Spec, spec.ErrSpec)
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
		return true, reportedFailure(events, err)
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

func (p *starter) readEvents(events *os.File) (*reportReader, error) {
	reader, err := newReportReader(events, p.process.handleEvent)
	if err != nil {
		return nil, err
	}
	p.process.mu.Lock()
	defer p.process.mu.Unlock()
	p.process.events = reader
	return reader, nil
}

func (p *Process) awaitEnd(b *jail.Builder, events *reportReader) {
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
		Init: b.Outer.Child(1), Parent: b.Outer.Child(2), Server: b.Outer.Child(3), Send: p.process.handleEvent, End: func() { p.process.Kill() }, Umask: spec.UnknownUmask,
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

// limitCgroup has the limits of a plan enforced before the supervisor gets the spec. A plan that
// counts on a cgroup is not carried out without one.
func (p *starter) limitCgroup(plan *planpkg.Plan) (err error) {
	if plan.Cgroup.None() {
		return nil
	}
	defer func() {
		if err != nil {
			err = &sys.Error{Step: "cgroup", Detail: err.Error()}
		}
	}()
	process := p.process
	limits := kernel.CgroupLimits(plan.Spec.Limits, p.hostNamespaces)
	if p.cgroup, err = kernel.MakeScope(plan.Cgroup, process.pid, limits); err != nil {
		return err
	}
	process.mu.Lock()
	process.cgroup, process.limits = p.cgroup, plan.Spec.Limits
	process.mu.Unlock()
	return nil
}

// superviseCgroup lowers the limit of processes to that of the plan, now that the supervisor
// runs. A jail for which that fails is ended. p.mu is held.
func (p *Process) superviseCgroup() {
	if p.cgroup == nil {
		return
	}
	exceeded, err := p.cgroup.Tighten(p.limits)
	if exceeded {
		p.denials = limitReached(p.denials, spec.KeyProcesses, "processes", p.limits.Processes, 0, "")
	}
	if err != nil {
		p.why = (&sys.Error{Step: "cgroup", Detail: err.Error()}).Error()
		unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
}

func (p *starter) watchCgroup() (stop func()) {
	if p.process.cgroup == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		p.cgroup.Watch(quit, func() {
			p.process.mu.Lock()
			defer p.process.mu.Unlock()
			p.process.lookIntoCgroup()
		})
	}()
	return func() { close(quit); <-ended }
}

// lookIntoCgroup records new events of the cgroup. p.mu is held.
func (p *Process) lookIntoCgroup() {
	if p.cgroup == nil {
		return
	}
	memory, processes := p.cgroup.NewEvents()
	if memory {
		p.denials = limitReached(p.denials, spec.KeyMemory, "memory", p.limits.MemoryMB, 0, "")
	}
	if processes {
		p.denials = limitReached(p.denials, spec.KeyProcesses, "processes", p.limits.Processes, 0, "")
	}
}

// leaveCgroup ends what is left of the jail in its cgroup.
func (p *starter) leaveCgroup() {
	p.process.mu.Lock()
	p.process.lookIntoCgroup()
	p.process.cgroup = nil
	p.process.mu.Unlock()
	if p.cgroup != nil {
		p.cgroup.End()
		p.cgroup = nil // if the jail is built again, it gets another
	}
}

// supervisorDied is the Exit.Why of a jail whose init or supervisor ended without reporting a
// reason.
const supervisorDied = "a part of mcp-jail that the jail needs has died: another process killed it, or the kernel did for lack of memory (see dmesg), or it could not start at the limit of processes (ulimit -u, a container's limit), which the server may have used up"

// failureCause returns why a jail with namespaces ended before its program: the call that the
// kernel refused when the outer process executed the supervisor, or supervisorDied.
func failureCause(b *jail.Builder) string {
	var call *stub.CallError
	if errors.As(b.Outer.Fatal(), &call) {
		return (&sys.Error{Step: sys.Supervision, Errno: call.Errno}).Error()
	}
	return supervisorDied
}

// recordFailure records why the jail ended before its program did. It records nothing if the
// program exited, if Kill was called, if the supervisor reported a reason, or if a denial names the
// limit of memory.
func (p *Process) recordFailure(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookIntoCgroup()
	memory := func(d policy.Denial) bool {
		return d.Axis == policy.AxisLimits && strings.HasPrefix(d.Target, spec.KeyMemory+" ")
	}
	if !p.exited && !p.killed && p.why == "" && !slices.ContainsFunc(p.denials, memory) {
		p.why = why
	}
}

// drainTimeout is how long the events of a supervisor are awaited after the end of the server.
const drainTimeout = time.Second

func (p *Process) stopSupervisor(drained <-chan struct{}) {
	p.events.Drain()
	if !p.isSupervised() {
		return
	}
	unix.Shutdown(int(p.control.Fd()), unix.SHUT_WR)
	waitForEvents(drained)
}

// waitForEvents waits until all events of the supervisor are handled, up to drainTimeout.
func waitForEvents(drained <-chan struct{}) {
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	}
}

// reportReader reads the events that a jail's supervisor writes: to a socket with namespaces,
// and to a pipe without. The goroutine of Run reads as soon as there is an event. The callers of
// Drain read too: the supervisor writes the event of a refusal before it answers the call, so
// Drain finds the event of each answer that the server has seen.
type reportReader struct {
	conn    syscall.RawConn
	onEvent func(spec.Event)

	mu   sync.Mutex
	rest []byte // of an incomplete event
	err  error  // why there are no more events
}

// newReportReader returns a reader that calls hear for each event.
func newReportReader(pipe *os.File, hear func(spec.Event)) (*reportReader, error) {
	conn, err := pipe.SyscallConn()
	return &reportReader{conn: conn, onEvent: hear}, err
}

// Run handles events until there are no more, and returns why. It blocks its own thread,
// which is faster than waiting for the runtime's poller.
func (r *reportReader) Run() error {
	for {
		err := r.conn.Control(func(fd uintptr) {
			sys.WaitReadable(int(fd), -1)
			r.readAvailable(int(fd))
		})
		r.mu.Lock()
		if r.err != nil {
			err = r.err
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Drain handles the events that are there.
func (r *reportReader) Drain() {
	r.conn.Control(func(fd uintptr) { r.readAvailable(int(fd)) })
}

// reportedFailure returns the error of a start that failed with err: the step that the supervisor has
// reported, if it has given up and so ended the process that was to execute the program. A
// supervisor reports before it ends a process.
func reportedFailure(pipe *os.File, err error) error {
	r, noReader := newReportReader(pipe, func(m spec.Event) {
		if m.Kind == spec.EventFailed {
			err = &sys.Error{Step: m.Step, Errno: syscall.Errno(m.Num), Detail: m.Detail}
		}
	})
	if noReader == nil {
		r.Drain()
	}
	return err
}

// readAvailable handles the events in the pipe without waiting. r.mu lets one goroutine read
// at a time.
func (r *reportReader) readAvailable(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.err == nil && sys.WaitReadable(fd, 0) {
		var chunk [4096]byte
		n, err := unix.Read(fd, chunk[:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			r.err = err
		case n == 0:
			r.err = io.EOF
		default:
			r.rest = append(r.rest, chunk[:n]...)
			r.parse()
		}
	}
}

func (r *reportReader) parse() {
	for r.err == nil {
		m, rest, err := spec.NextEvent(r.rest)
		if err == io.ErrUnexpectedEOF {
			return
		}
		if r.err = err; err == nil {
			r.rest = rest
			r.onEvent(m)
		}
	}
}
