package confine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
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
//
// What is done in the jail is done by tasks, which share one table of descriptors; what
// is only looked at, by this process.
type supervisor struct {
	reach
	listener listener
	open     latch // listener is
	profile  *policy.Profile
	calls    map[uint32]hookedCall
	ruleset  int
	bare     bool     // without mounts: names are all that decides
	gated    bool     // somebody else knows which connections were refused
	sockets  *sockets // nil where the server's are its own
	end      func()   // of the jail
	failed   func(step string, err error)
	ledger   ledger
	names    nameLock
	umask    int // of all that has been started, or unknownUmask
	workers  atomic.Int32
	idle     *idleWorkers
	executed bool           // the server was, or is about to be
	running  sync.WaitGroup // whoever acts in the jail
}

// reach is how a supervisor gets at the jail.
type reach struct {
	// newTask returns the task of a worker, in whose goroutine it is called.
	newTask func() (*stub.Task, error)
	// eyes is the receiver's.
	eyes *stub.Task
	// beyond calls f with a task outside of the server's Landlock domain.
	beyond func(f func(t *stub.Task))
	// lend turns a descriptor of this process into one of the tasks.
	lend func(fd int) (int, error)
	// handle is the listener's number in the table of the tasks.
	handle int
	// depth is how many PID namespaces the jail's is below that of our /proc.
	depth int
}

// ownReach is that of a supervisor in the jail: its own threads are the tasks.
func ownReach() reach {
	return reach{
		newTask: ownThread,
		eyes:    &stub.Task{},
		beyond:  func(f func(t *stub.Task)) { outside(func() { f(&stub.Task{}) }) },
		lend:    func(fd int) (int, error) { return fd, nil },
	}
}

// ownThread gives the goroutine a thread for itself, which ends with it.
func ownThread() (*stub.Task, error) {
	runtime.LockOSThread()
	bePunctual()
	return &stub.Task{}, nil
}

// maxWorkers bounds the calls that are carried out at once. They block only on
// filesystems that hang. There are spare threads for them (spareThreads): when the
// server has taken all that there may be, the supervisor still answers.
const maxWorkers = 4

// newSupervisor makes the supervisor of a jail; self is the thread that tests it.
func newSupervisor(b *builder, r reach, self int, failed func(step string, err error)) *supervisor {
	arch, _ := archOf(runtime.GOARCH)
	programs := b.order.Programs
	if b.order.AnyProgram {
		programs = nil
	}
	v := &supervisor{
		reach: r, ruleset: b.making, bare: b.bare, gated: b.order.Gate.Open, end: b.end, failed: failed, calls: hookedByNumber(arch),
		profile: &policy.Profile{Entries: b.order.Entries, Unprotected: b.order.Unprotected, Programs: programs},
		ledger:  ledger{say: b.say, self: self},
		umask:   b.umask,
		idle:    newIdleWorkers(),
	}
	v.ledger.tidOf = v.threadOf
	return v
}

// start starts the receiver and the first worker.
func (v *supervisor) start() {
	v.startWorker()
	v.running.Add(1)
	atOnce(v.receive)
}

func (v *supervisor) startWorker() {
	v.workers.Add(1)
	v.running.Go(func() { v.work(nil) })
}

// wait returns when the jail has ended and nobody acts in it any more.
func (v *supervisor) wait() {
	v.idle.close()
	v.running.Wait()
	unix.Close(int(v.listener))
}

// receive is the receiver. It ends with the jail. Its thread is its own, so that the
// caller wakes it and nobody else.
func (v *supervisor) receive() {
	defer v.running.Done()
	runtime.LockOSThread()
	bePunctual()
	if v.sockets != nil {
		blockSignals() // see listener.hand
	}
	v.open.soon(manyTurns)
	v.open.wait()
	v.listener.first()
	goesOn := v.receiveOne()
	v.listener.tune() // not for the server's own exec, which would only be moved back
	for goesOn {
		goesOn = v.receiveOne()
	}
}

func (v *supervisor) receiveOne() (goesOn bool) {
	var n notification
	switch v.listener.receive(&n) {
	case 0:
		v.take(&n)
	case unix.ENOENT, unix.EINTR: // the caller was killed before we looked, or everybody is gone
		return !v.listener.over()
	default:
		v.end() // hooked calls cannot be answered any more: no jail
		return false
	}
	return true
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
	if call.op == hookConnect || call.op == hookExec || call.op == hookUmask {
		// The kernel decides. A refusal is on record before the server can know of it.
		// Of the start itself, which is the first exec, Start tells.
		if v.executed || call.op != hookExec {
			v.witnessCall(r)
		}
		v.executed = v.executed || call.op == hookExec
		v.listener.proceed(n.id)
		return
	}
	if errno := v.read(r); errno != 0 {
		r.close(v.eyes)
		v.listener.finish(n.id, errno)
		return
	}
	v.pass(r)
}

// pass gives a request to a worker that waits, or to a new one: never to one that
// may be kept waiting itself.
func (v *supervisor) pass(r *request) {
	w := v.idle.pop(v.workers.Load() >= maxWorkers)
	if w == nil && v.idle.isClosed() {
		return // nobody waits for it
	}
	if w == nil {
		v.workers.Add(1)
		v.running.Go(func() { v.work(r) })
		return
	}
	w.give(r)
}

// work is a worker. The first one is given nothing, and waits.
func (v *supervisor) work(r *request) {
	t, err := v.newTask()
	if err != nil && r != nil { // there are others, one of which will be free
		v.workers.Add(-1)
		v.giveSoon(r)
		return
	}
	step := "supervisor"
	if err == nil {
		step, err = becomeWorker(t, v.ruleset)
	}
	if err != nil {
		v.failed(step, err)
		v.end()
		return
	}
	w := &worker{t: t}
	for {
		if r == nil {
		} else if v.carryOut(w.t, r) {
			r.close(w.t)
		} else {
			v.running.Go(func() { v.later(r) })
		}
		if !v.idle.push(w) {
			return
		}
		if r = w.await(); r == nil {
			return
		}
	}
}

// later has a call carried out again, for as long as somebody waits for it.
func (v *supervisor) later(r *request) {
	r.tries = min(r.tries+1, 50)
	time.Sleep(time.Duration(r.tries) * time.Millisecond)
	if !v.listener.valid(r.n.id) {
		v.beyond(r.close)
		return
	}
	v.giveSoon(r)
}

// giveSoon gives a request to the next worker that is free.
func (v *supervisor) giveSoon(r *request) {
	if w := v.idle.pop(true); w != nil {
		w.give(r)
	}
}
