// Package mediator carries out the filesystem calls of a jailed server that the kernel alone
// cannot decide.
//
// The server's second seccomp filter hands these calls over (seccomp_unotify(2)): opens that
// write or create, truncate(2), and changes of names. Under some plans the filter also hands over
// changes of modes, owners and times, and opens that only read. The mediator copies the
// arguments, resolves the names, asks policy.Profile for a verdict, performs the call on its own
// descriptors, and answers with a result, a descriptor or an errno. Calls that the kernel decides
// (connect, exec, umask, bind) are only observed, and then continue. Begin at Mediator.dispatch, which
// has all calls, and at Mediator.perform.
//
// Four packages stand beside it, and know nothing of it. Package refusals tells the launcher of each
// refusal before the call is answered. Package sockets answers the socket calls if there is no network
// namespace. Package tracer looks at the program that an exec has loaded, if a command rule has
// arguments or variables. Package journal keeps what a worker is about to change.
//
// The caller is package supervisor: it calls New, hands it the listener with Serve, and calls
// Reporter.Flush at the end of the server. In the host's namespaces it calls New before it
// restricts itself.
//
// Threads: one receiver and up to MaxWorkers workers, each locked to an OS thread. The
// receiver reads the caller's memory, so it stays outside the server's Landlock domain. With
// namespaces it also keeps CAP_SYS_PTRACE in the jail's user namespace. It changes no file.
// Workers hold no capability and are under a ruleset with the server's rules. So the kernel
// decides about their calls as it would about the server's. With mounts, a mistake here can let a
// name come into being that should not exist, and nothing else. Without mounts the mediator alone
// holds the entries that take rights away inside a grant, and the rules about modes, owners and times.
//
// Locks: every operation on names holds Mediator.names for reading from its verdict to its
// act, and rename holds it for writing. Mediator.names is taken before the lock of the Reporter.
// workerPool.mu and the lock of the tracer are held with no other lock.
//
// Limits: MaxWorkers calls run at once and maxHeld wait; one more gets EAGAIN. Another jail
// can move a directory between the verdict and the call. The mediator then checks the result
// again and undoes it. It cannot undo RENAME_EXCHANGE into a protected name, so it refuses that.
// When the supervisor ends, mediated calls fail with ENOSYS.
package mediator

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/journal"
	"github.com/mcp-jail/mcp-jail/confine/internal/refusals"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sockets"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/confine/internal/tracer"
)

// Mediator answers the calls that the server's filter hands over. It runs in the jail's
// mount namespace, so it sees the server's files under the server's names.
type Mediator struct {
	listener seccomp.Listener
	open     chan struct{} // closed when listener is set
	received chan struct{} // closed when the receiver has it
	calls    map[uint32]seccomp.MediatedCall
	ruleset  int // Landlock ruleset of the workers
	selfFD   int // /proc/self/fd, held open because a lookup for each call is slow
	judge    judge
	args     reader
	observer observer
	sockets  *sockets.Handler // nil if the server makes its own sockets
	starts   *tracer.Tracer   // nil if no command rule has arguments or variables
	binds    heldBinds
	end      func() // ends the jail
	failed   func(step string, err error)
	Reporter refusals.Reporter
	Journal  journal.Journal
	once     bool // see spec.Spec.Once
	names    nameLock
	pool     workerPool
	Running  bool // the server's own exec was seen, so that later ones are observed
}

// MaxWorkers bounds the calls that are performed at once. A worker blocks only on a
// filesystem that hangs. An open that would block on a fifo or on a lease is retried later.
// The supervisor starts the threads for the workers in advance, so that it still answers when
// the server has used up the thread limit.
const MaxWorkers = 4

// Options are the inputs of New.
type Options struct {
	Spec          *spec.Spec
	WorkerRuleset int   // the Landlock ruleset of the workers
	Umask         int   // the server's umask at its start
	Broker        int   // the socket of the network broker, where Spec.Network.Brokered is set
	Kept          []int // the journal and the data file, where Spec.Keep is on
	Send          func(spec.Event)
	End           func()                       // ends the jail
	Failed        func(step string, err error) // reports a step that failed
}

// New returns a mediator and starts its receiver and its first worker. In the host's namespaces
// both start while the jail is still being built, in parallel with the later steps. The receiver
// waits for Serve.
func New(o Options) *Mediator {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	profile := &o.Spec.Profile
	profile.FoldUnprotected()
	v := &Mediator{
		ruleset:  o.WorkerRuleset,
		calls:    seccomp.MediatedByNumber(arch),
		end:      o.End,
		failed:   o.Failed,
		Reporter: refusals.Reporter{Say: o.Send, Self: unix.Gettid()},
		once:     o.Spec.Once,
		pool:     workerPool{started: 1, single: sharesFS()},
		open:     make(chan struct{}),
		received: make(chan struct{}),
	}
	v.judge = judge{profile: profile, hostNS: o.Spec.HostNS, reporter: &v.Reporter}
	v.args = reader{listener: &v.listener, umask: o.Umask}
	v.observer = observer{judge: &v.judge, args: &v.args}
	if o.Spec.Network.Brokered {
		v.sockets = sockets.New(&v.listener, v.end, o.Broker)
		v.Reporter.ResolvesHosts = true
	}
	var err error
	if v.selfFD, err = unix.Openat(sys.DirFD, sys.Dir+"/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		v.failed("supervisor", err)
		v.end()
	}
	if profile.ConstrainsStarts() {
		v.starts = tracer.New(tracer.Options{
			Profile: profile, Env: o.Spec.Env, Listener: &v.listener, Report: v.Reporter.RefusedStart,
		})
	}
	v.Journal = journal.New(o.Spec, o.Kept, v.selfFD, o.Send)
	go v.work(nil)
	sys.GoOnNewThread(v.receive)
	return v
}

// Serve hands the listener to the receiver, and returns when the receiver has it. A caller that did
// not wait could make a mediated call at once. If Go's scheduler does not know of that call, its
// thread would keep the receiver in its own queue forever.
func (m *Mediator) Serve(listener seccomp.Listener) {
	m.listener = listener
	close(m.open)
	<-m.received
}

// receive is the receiver's loop. It runs until the jail ends. It is locked to its thread,
// so that the caller wakes exactly this thread.
func (m *Mediator) receive() {
	runtime.LockOSThread()
	if m.sockets != nil {
		sys.BlockSignals() // see seccomp.Listener.AddFD
	}
	<-m.open
	close(m.received)
	m.listener.WaitFirst()
	m.receiveOne()
	m.listener.SetSyncWakeup() // after the server's own exec, which it would only slow down
	for {
		m.receiveOne()
	}
}

// Stopped passes a status that wait(2) returned to the tracer.
func (m *Mediator) Stopped(pid int, ws syscall.WaitStatus) {
	if m.starts != nil {
		m.starts.Stopped(pid, ws)
	}
}

func (m *Mediator) receiveOne() {
	var n seccomp.Notification
	switch m.listener.Receive(&n) {
	case 0:
		m.dispatch(&n)
	case unix.ENOENT: // the caller was killed
		if m.listener.IsUnused() {
			select {} // no task is left that could call; the supervisor ends soon
		}
	case unix.EINTR: // a signal came
	default:
		m.end() // mediated calls can no longer be answered
	}
}

func (m *Mediator) dispatch(n *seccomp.Notification) {
	if m.sockets != nil && m.sockets.Handle(n) {
		return
	}
	call, ok := m.calls[uint32(n.Nr)]
	if !ok {
		m.listener.Respond(n.Id, unix.ENOSYS)
		return
	}
	r := &request{MediatedCall: call, n: *n, bases: [2]int{-1, -1}}
	switch {
	case call.Op == seccomp.OpOpen && r.openFlags()&unix.O_PATH != 0:
		// O_PATH opens no object, so a name that changes meanwhile does no harm. An O_PATH
		// descriptor cannot be handed over.
		m.listener.Continue(n.Id)
		return
	case m.onlyReads(r):
		m.passRead(r)
		return
	case call.Op == seccomp.OpExec:
		m.start(r)
		return
	case call.Op == seccomp.OpConnect:
		// The kernel decides. A refusal is reported before the server learns of it.
		m.observer.connect(r)
		m.listener.Continue(n.Id)
		return
	case call.Op == seccomp.OpBind:
		if to, ok := boundAddress(r); ok {
			m.holdBind(n.Id, to)
		} else {
			m.listener.Continue(n.Id)
		}
		return
	case call.Op == seccomp.OpUmask:
		m.args.umask = spec.UnknownUmask
		m.listener.Continue(n.Id)
		return
	}
	if errno := m.args.read(r); errno != 0 {
		r.close()
		m.listener.Respond(n.Id, errno)
		return
	}
	m.pass(r)
}

// start lets the kernel decide about the start of a program, unless only the first one is allowed, or command
// rules are about each. A refusal is reported before the server learns of it. The first start is that of the
// server: the launcher reports its failure.
func (m *Mediator) start(r *request) {
	switch {
	case !m.Running:
		m.Running = true
	case m.once:
		m.observer.exec(r, true)
		m.listener.Respond(r.n.Id, unix.EACCES)
		return
	default:
		m.observer.exec(r, false)
		if m.starts != nil {
			m.starts.Begin(&r.n)
			return
		}
	}
	m.listener.Continue(r.n.Id)
}

// pass hands a request to a worker. It never blocks: the receiver goes on to the next call, which
// may need no worker.
func (m *Mediator) pass(r *request) {
	switch m.pool.assign(r, m.stale) {
	case startWorker:
		go m.work(r)
	case turnAway:
		m.turnAway(r)
	}
}

func (m *Mediator) turnAway(r *request) {
	if r.continues {
		m.listener.Continue(r.n.Id)
	} else {
		m.listener.Respond(r.n.Id, unix.EAGAIN)
	}
	r.close()
}

func (m *Mediator) stale(r *request) bool { return !m.listener.Valid(r.n.Id) }

// work is a worker's loop. The worker is locked to its thread, which ends with it.
func (m *Mediator) work(r *request) {
	runtime.LockOSThread()
	if step, err := becomeWorker(m.ruleset, m.pool.single); err != nil {
		m.failed(step, err)
		m.end()
	}
	w := &worker{}
	if r == nil { // the first worker has no request yet
		r = m.pool.next(w)
	}
	for {
		switch {
		case m.perform(r):
			r.close()
		case m.pool.sleep():
			go m.retry(r)
		default:
			m.turnAway(r)
		}
		r = m.pool.next(w)
	}
}

func (m *Mediator) retry(r *request) {
	r.tries = min(r.tries+1, 50)
	time.Sleep(time.Duration(r.tries) * time.Millisecond)
	m.pool.wake()
	if m.stale(r) {
		r.close()
		return
	}
	m.pass(r)
}

// nameLock keeps a path valid between its verdict and its use. A rename, which may move a
// directory, takes the lock for writing. All other operations take it for reading. Each jail has
// a lock of its own, so another jail can still move a directory: undoIfMoved and undoRename check
// again after the call.
type nameLock struct{ sync.RWMutex }

// perform decides a call, performs it and answers it. It returns false, without an answer,
// when the call must be retried later.
func (m *Mediator) perform(r *request) (answered bool) {
	w := &resolver{tid: int(r.n.Tid), open: openOutside, process: func() int { return m.processOf(r) }}
	if r.continues {
		m.watchRead(r, w)
		m.listener.Continue(r.n.Id)
		return true
	}
	switch r.Op {
	case seccomp.OpOpen:
		return m.openFile(r, w)
	case seccomp.OpTruncate:
		errno := m.truncate(r, w)
		if errno == unix.EAGAIN {
			return false // a process of the host holds a lease, which the kernel is breaking now
		}
		m.listener.Respond(r.n.Id, errno)
	case seccomp.OpMode, seccomp.OpOwner, seccomp.OpTimes:
		m.listener.Respond(r.n.Id, m.attributes(r, w))
	default:
		m.listener.Respond(r.n.Id, m.changeName(r, w))
	}
	return true
}

// processOf returns the ID of the process that makes a call, or 0 when it has ended.
func (m *Mediator) processOf(r *request) int {
	if r.tgid == 0 {
		var errno syscall.Errno
		sys.OnUnrestrictedThread(func() { r.tgid, _, errno = sys.ThreadStatus(int(r.n.Tid)) })
		if errno != 0 || !m.listener.Valid(r.n.Id) {
			r.tgid = -1
		}
	}
	return max(0, r.tgid)
}
