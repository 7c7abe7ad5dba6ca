package mediator

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// worker is the mailbox of one worker thread. The thread waits for the next request by
// futex(2), because Go's scheduler would involve two more threads in each hand-over.
type worker struct {
	given uint32 // the futex: 1 when next is set
	next  *request
}

func (w *worker) give(r *request) {
	w.next = r
	atomic.StoreUint32(&w.given, 1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWakePrivate, 1, 0, 0, 0)
}

func (w *worker) await() *request {
	if atomic.LoadUint32(&w.given) == 0 {
		soon := unix.Timespec{Nsec: sys.BusyWaitNs}
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWaitPrivate, 0, uintptr(unsafe.Pointer(&soon)), 0, 0)
	}
	for !atomic.CompareAndSwapUint32(&w.given, 1, 0) {
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWaitPrivate, 0, 0, 0, 0)
	}
	return w.next
}

// workerPool holds the idle workers of a jail and the requests that wait for a worker.
type workerPool struct {
	mu      sync.Mutex
	started int
	single  bool       // one worker, which has the umask and directory of all threads: see sharesFS
	idle    []*worker  // last in, first out, so that the other workers can stay asleep
	waiting []*request // while all workers are busy
	asleep  int        // requests that are retried later
}

// maxHeld bounds the requests that wait or sleep, each of which holds descriptors. A server
// reaches it only with more threads than the default limit, or by killing waiting threads.
const maxHeld = 1024

// assignment is what the caller of assign must do with the request.
type assignment int

const (
	assigned    assignment = iota // nothing: a worker has it, or it waits for one
	startWorker                   // start a worker with it
	turnAway                      // answer it with EAGAIN
)

// assign gives a request to an idle worker or queues it. It never blocks. stale reports
// whether the caller of a request is gone: when the queue is full, assign drops such requests.
func (c *workerPool) assign(r *request, stale func(*request) bool) assignment {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w.give(r)
		return assigned
	}
	defer c.mu.Unlock()
	if c.started < MaxWorkers && !c.single {
		c.started++
		return startWorker
	}
	// Requests whose callers are gone make room before this one is turned away.
	if c.full() {
		c.waiting = slices.DeleteFunc(c.waiting, func(r *request) bool {
			gone := stale(r)
			if gone {
				r.close()
			}
			return gone
		})
	}
	if c.full() {
		return turnAway
	}
	c.waiting = append(c.waiting, r)
	return assigned
}

// full reports whether maxHeld requests are held. The caller holds mu.
func (c *workerPool) full() bool { return len(c.waiting)+c.asleep >= maxHeld }

func (c *workerPool) sleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full() {
		return false
	}
	c.asleep++
	return true
}

func (c *workerPool) wake() {
	c.mu.Lock()
	c.asleep--
	c.mu.Unlock()
}

func (c *workerPool) next(w *worker) *request {
	c.mu.Lock()
	if len(c.waiting) > 0 {
		r := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		return r
	}
	c.idle = append(c.idle, w)
	c.mu.Unlock()
	return w.await()
}

// sharesFS reports whether no thread of this process can have its own umask and working directory:
// Docker's default filter refuses unshare with any flags.
func sharesFS() bool { return unix.Unshare(0) != nil }

// becomeWorker restricts the calling thread as the server is restricted: no capabilities,
// no_new_privs and a Landlock ruleset. It also unshares the umask and working directory, unless
// they are shared with all threads, and blocks signals (see seccomp.Listener.AddFD). It returns
// the step that failed.
func becomeWorker(ruleset int, sharesFS bool) (step string, err error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	self := &stub.Task{}
	for _, s := range []struct {
		name string
		run  func() error
	}{
		{"supervisor", sys.BlockSignals},
		{"supervisor", func() error {
			if sharesFS {
				return nil
			}
			return unix.Unshare(unix.CLONE_FS)
		}},
		{"capabilities", func() error { return unix.Capset(&hdr, &none[0]) }},
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"landlock", func() error { return stub.LandlockRestrictSelf(self, ruleset) }},
	} {
		if err := s.run(); err != nil {
			return s.name, err
		}
	}
	return "", nil
}
