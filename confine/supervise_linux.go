package confine

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
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
type supervisor struct {
	listener listener
	open     chan struct{} // closed when listener is set
	profile  *policy.Profile
	calls    map[uint32]hookedCall
	ruleset  int
	own      int  // /proc/self/fd: to look it up anew each time takes half as long again as an open
	bare     bool // without mounts
	alone    bool // nothing else takes away inside of a grant: no mounts, or they can be passed by
	objects  map[inode]string
	gated    bool     // somebody else knows which connections were refused
	sockets  *sockets // nil where the server's are its own
	end      func()   // of the jail
	failed   func(step string, err error)
	ledger   ledger
	names    nameLock
	umask    int // of all that has been started, or unknownUmask
	crew     crew
	running  bool // the server was executed, or is about to be
}

// maxWorkers bounds the calls that are carried out at once. They wait only for
// filesystems that hang: what else an open would wait for (the other end of a fifo, a
// lease of the host's) is asked for again later. There are spare threads for them (spareThreads): when the
// server has taken all that there may be, the supervisor still answers.
const maxWorkers = 4

// supervisorOptions are what a supervisor needs of the process that it lives in.
type supervisorOptions struct {
	order  *order
	making int // the ruleset of its workers
	umask  int
	asks   int // the socket of asks.go
	say    func(message)
	end    func() // of the jail
	failed func(step string, err error)
}

// newSupervisor starts the receiver and the first worker too, which need nothing of the
// steps that follow and take some of the time that they take.
func newSupervisor(o supervisorOptions) *supervisor {
	arch, _ := archOf(runtime.GOARCH)
	programs := o.order.Programs
	if o.order.AnyProgram {
		programs = nil
	}
	v := &supervisor{
		ruleset: o.making, bare: o.order.Bare, alone: o.order.Bare || passed(o.order.Folded), gated: o.order.Gate.Open, end: o.end, calls: hookedByNumber(arch),
		profile: &policy.Profile{Entries: o.order.Entries, Unprotected: o.order.Unprotected, Folded: o.order.Folded, Programs: programs},
		objects: foldedObjects(o.order.Folded),
		failed:  o.failed,
		ledger:  ledger{say: o.say, self: unix.Gettid()},
		umask:   o.umask,
		crew:    crew{hired: 1},
		open:    make(chan struct{}),
	}
	if o.order.Gate.Asked {
		v.sockets = newSockets(&v.listener, v.end, o.asks)
		v.ledger.hosts = true
	}
	var err error
	if v.own, err = unix.Openat(procAt, procDir+"/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		v.failed("supervisor", err)
		v.end()
	}
	go v.work(nil)
	atOnce(v.receive)
	return v
}

// receive is the receiver. It ends with the jail. Its thread is its own, so that the
// caller wakes it and nobody else.
func (v *supervisor) receive() {
	runtime.LockOSThread()
	if v.sockets != nil {
		blockSignals() // see listener.hand
	}
	<-v.open
	v.listener.first()
	v.receiveOne()
	v.listener.tune() // not for the server's own exec, which would only be moved back
	for {
		v.receiveOne()
	}
}

func (v *supervisor) receiveOne() {
	var n notification
	switch v.listener.receive(&n) {
	case 0:
		v.take(&n)
	case unix.ENOENT, unix.EINTR: // the caller was killed before we looked
	default:
		v.end() // hooked calls cannot be answered any more: no jail
	}
}

func (v *supervisor) take(n *notification) {
	if v.sockets != nil {
		if call, ok := v.sockets.calls[uint32(n.nr)]; ok {
			v.sockets.take(n, call)
			return
		}
	}
	call, ok := v.calls[uint32(n.nr)]
	if !ok {
		v.listener.finish(n.id, unix.ENOSYS)
		return
	}
	r := &request{hookedCall: call, n: *n, bases: [2]int{-1, -1}}
	if call.op == hookOpen && r.openFlags()&unix.O_PATH != 0 {
		// It opens nothing, whatever the name says by then, and such a descriptor cannot
		// be handed over.
		v.listener.proceed(n.id)
		return
	}
	if v.onlyReads(r) {
		v.witnessRead(r)
		v.listener.proceed(n.id)
		return
	}
	if call.op == hookConnect || call.op == hookExec || call.op == hookUmask {
		// The kernel decides. A refusal is on record before the server can know of it.
		// Of the start itself, which is the first exec, Start tells.
		if v.running || call.op != hookExec {
			v.witnessCall(r)
		}
		v.running = v.running || call.op == hookExec
		v.listener.proceed(n.id)
		return
	}
	if errno := v.read(r); errno != 0 {
		r.close()
		v.listener.finish(n.id, errno)
		return
	}
	v.pass(r)
}

// pass has a worker carry a request out. It never waits: other calls need no worker.
func (v *supervisor) pass(r *request) {
	switch v.crew.assign(r, v.stale) {
	case hireOne:
		go v.work(r)
	case turnAway:
		v.turnAway(r)
	}
}

// turnAway answers a call that one too many would be. None of the calls that wait is
// given up for it.
func (v *supervisor) turnAway(r *request) {
	v.listener.finish(r.n.id, unix.EAGAIN)
	r.close()
}

func (v *supervisor) stale(r *request) bool { return !v.listener.valid(r.n.id) }

// work is a worker. Its thread is its own and ends with it.
func (v *supervisor) work(r *request) {
	runtime.LockOSThread()
	if step, err := becomeWorker(v.ruleset); err != nil {
		v.failed(step, err)
		v.end()
	}
	w := &worker{}
	if r == nil { // the first one waits
		r = v.crew.next(w)
	}
	for {
		switch {
		case v.carryOut(r):
			r.close()
		case v.crew.sleep():
			go v.later(r)
		default:
			v.turnAway(r)
		}
		r = v.crew.next(w)
	}
}

// later has a call carried out again, for as long as its caller waits for it.
func (v *supervisor) later(r *request) {
	r.tries = min(r.tries+1, 50)
	time.Sleep(time.Duration(r.tries) * time.Millisecond)
	v.crew.wake()
	if v.stale(r) {
		r.close()
		return
	}
	v.pass(r)
}
