package mediate

import (
	"runtime"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/mediate/sockets"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// The supervisor answers the calls that the server's filter hands over (notify.go).
// It lives in the jail's init, so it sees the same files under the same names, and
// it ends with the jail: hooked calls then fail with ENOSYS.
//
// It has two kinds of threads. The receiver reads arguments, for which it must be
// outside of the server's Landlock domain and hold CAP_SYS_PTRACE in the jail's
// user namespace. It changes nothing. Workers carry calls out. They hold no
// capability and are under a ruleset with the server's rules, so the kernel decides
// about what they do as it would about the server: a mistake here can let a name
// come into being that should not, and nothing else.
type Mediator struct {
	Listener seccomp.Listener
	Open     chan struct{} // closed when listener is set
	profile  *policy.Profile
	calls    map[uint32]seccomp.MediatedCall
	ruleset  int
	own      int  // /proc/self/fd: to look it up anew each time takes half as long again as an open
	hostNS   bool // without mounts
	unmasked bool // nothing else takes away inside of a grant: no mounts, or they can be passed by
	objects  map[inode]string
	network  bool             // somebody else knows which connections were refused
	sockets  *sockets.Handler // nil where the server's are its own
	end      func()           // of the jail
	failed   func(step string, err error)
	Reporter Reporter
	names    nameLock
	umask    int // of all that has been started, or unknownUmask
	pool     workerPool
	Running  bool // the server was executed, or is about to be
}

// maxWorkers bounds the calls that are carried out at once. They wait only for
// filesystems that hang: what else an open would wait for (the other end of a fifo, a
// lease of the host's) is asked for again later. There are spare threads for them (spareThreads): when the
// server has taken all that there may be, the supervisor still answers.
const MaxWorkers = 4

// supervisorOptions are what a supervisor needs of the process that it lives in.
type Options struct {
	Spec          *spec.Spec
	WorkerRuleset int // the Landlock ruleset of the workers
	Umask         int // the server's at its start
	Broker        int // the socket of the network broker, where Spec.Network.Asked is set
	Send          func(spec.Event)
	End           func()                       // ends the jail
	Failed        func(step string, err error) // reports a step that failed
}

// newSupervisor starts the receiver and the first worker too, which need nothing of the
// steps that follow and take some of the time that they take.
func New(o Options) *Mediator {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	profile := &o.Spec.Profile
	v := &Mediator{
		ruleset:  o.WorkerRuleset,
		hostNS:   o.Spec.HostNS,
		unmasked: o.Spec.HostNS || spec.BypassesMount(profile.Folded),
		network:  o.Spec.Network.Open,
		calls:    seccomp.MediatedByNumber(arch),
		profile:  profile,
		objects:  foldedObjects(profile.Folded),
		end:      o.End,
		failed:   o.Failed,
		Reporter: Reporter{Say: o.Send, Self: unix.Gettid()},
		umask:    o.Umask,
		pool:     workerPool{started: 1},
		Open:     make(chan struct{}),
	}
	if o.Spec.Network.Asked {
		v.sockets = sockets.New(&v.Listener, v.end, o.Broker)
		v.Reporter.ResolvesHosts = true
	}
	var err error
	if v.own, err = unix.Openat(proc.DirFD, proc.Dir+"/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		v.failed("supervisor", err)
		v.end()
	}
	go v.work(nil)
	sys.GoOnNewThread(v.receive)
	return v
}

// receive is the receiver. It ends with the jail. Its thread is its own, so that the
// caller wakes it and nobody else.
func (v *Mediator) receive() {
	runtime.LockOSThread()
	if v.sockets != nil {
		sys.BlockSignals() // see listener.hand
	}
	<-v.Open
	v.Listener.WaitFirst()
	v.receiveOne()
	v.Listener.SetSyncWakeup() // not for the server's own exec, which would only be moved back
	for {
		v.receiveOne()
	}
}

func (v *Mediator) receiveOne() {
	var n seccomp.Notification
	switch v.Listener.Receive(&n) {
	case 0:
		v.dispatch(&n)
	case unix.ENOENT, unix.EINTR: // the caller was killed before we looked
	default:
		v.end() // hooked calls cannot be answered any more: no jail
	}
}

func (v *Mediator) dispatch(n *seccomp.Notification) {
	if v.sockets != nil {
		if call, ok := v.sockets.Calls[uint32(n.Nr)]; ok {
			v.sockets.Handle(n, call)
			return
		}
	}
	call, ok := v.calls[uint32(n.Nr)]
	if !ok {
		v.Listener.Respond(n.Id, unix.ENOSYS)
		return
	}
	r := &Request{MediatedCall: call, N: *n, bases: [2]int{-1, -1}}
	if call.Op == seccomp.OpOpen && r.openFlags()&unix.O_PATH != 0 {
		// It opens nothing, whatever the name says by then, and such a descriptor cannot
		// be handed over.
		v.Listener.Continue(n.Id)
		return
	}
	if v.onlyReads(r) {
		v.observeRead(r)
		v.Listener.Continue(n.Id)
		return
	}
	if call.Op == seccomp.OpConnect || call.Op == seccomp.OpExec || call.Op == seccomp.OpUmask {
		// The kernel decides. A refusal is on record before the server can know of it.
		// Of the start itself, which is the first exec, Start tells.
		if v.Running || call.Op != seccomp.OpExec {
			v.observeCall(r)
		}
		v.Running = v.Running || call.Op == seccomp.OpExec
		v.Listener.Continue(n.Id)
		return
	}
	if errno := v.read(r); errno != 0 {
		r.close()
		v.Listener.Respond(n.Id, errno)
		return
	}
	v.pass(r)
}

// pass has a worker carry a request out. It never waits: other calls need no worker.
func (v *Mediator) pass(r *Request) {
	switch v.pool.assign(r, v.stale) {
	case startWorker:
		go v.work(r)
	case turnAway:
		v.turnAway(r)
	}
}

// turnAway answers a call that one too many would be. None of the calls that wait is
// given up for it.
func (v *Mediator) turnAway(r *Request) {
	v.Listener.Respond(r.N.Id, unix.EAGAIN)
	r.close()
}

func (v *Mediator) stale(r *Request) bool { return !v.Listener.Valid(r.N.Id) }

// work is a worker. Its thread is its own and ends with it.
func (v *Mediator) work(r *Request) {
	runtime.LockOSThread()
	if step, err := becomeWorker(v.ruleset); err != nil {
		v.failed(step, err)
		v.end()
	}
	w := &worker{}
	if r == nil { // the first one waits
		r = v.pool.next(w)
	}
	for {
		switch {
		case v.perform(r):
			r.close()
		case v.pool.sleep():
			go v.retry(r)
		default:
			v.turnAway(r)
		}
		r = v.pool.next(w)
	}
}

// retry has a call carried out again, for as long as its caller waits for it.
func (v *Mediator) retry(r *Request) {
	r.tries = min(r.tries+1, 50)
	time.Sleep(time.Duration(r.tries) * time.Millisecond)
	v.pool.wake()
	if v.stale(r) {
		r.close()
		return
	}
	v.pass(r)
}
