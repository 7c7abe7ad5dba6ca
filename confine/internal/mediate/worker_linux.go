package mediate

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// A worker carries calls out. It waits in the kernel for the next one: Go's
// scheduler would have two more threads take part in every hand-over.
type worker struct {
	given uint32 // futex(2): 1 when next is set
	next  *Request
}

func (w *worker) give(r *Request) {
	w.next = r
	atomic.StoreUint32(&w.given, 1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWakePrivate, 1, 0, 0, 0)
}

func (w *worker) await() *Request {
	if atomic.LoadUint32(&w.given) == 0 {
		soon := unix.Timespec{Nsec: sys.BusyWaitNs}
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWaitPrivate, 0, uintptr(unsafe.Pointer(&soon)), 0, 0)
	}
	for !atomic.CompareAndSwapUint32(&w.given, 1, 0) {
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), sys.FutexWaitPrivate, 0, 0, 0, 0)
	}
	return w.next
}

// A crew is the workers of a jail, and the requests that there is no worker for yet.
type workerPool struct {
	mu      sync.Mutex
	started int
	idle    []*worker  // the one that came last goes first: the others can sleep on
	waiting []*Request // while all of maxWorkers are busy
	asleep  int        // requests that are tried again later
}

// maxHeld bounds the requests that wait or sleep, each of which holds descriptors. A
// server has as many only where it kills those that wait, or may have more threads.
const maxHeld = 1024

// What is to be done with a request.
type assignment int

const (
	assigned    assignment = iota // it is given to a worker, or waits for one
	startWorker                   // it is for a new worker
	turnAway                      // there are too many
)

// assign gives a request to a worker that is idle, and never waits for one. stale tells
// of a request whose caller is gone.
func (c *workerPool) assign(r *Request, stale func(*Request) bool) assignment {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w.give(r)
		return assigned
	}
	defer c.mu.Unlock()
	if c.started < MaxWorkers {
		c.started++
		return startWorker
	}
	if c.full() {
		c.waiting = slices.DeleteFunc(c.waiting, func(r *Request) bool {
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

func (c *workerPool) full() bool { return len(c.waiting)+c.asleep >= maxHeld }

// sleep counts one more request that is tried again later, if there may be one.
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

// next is the request that a worker carries out next: the one that has waited longest,
// or the next one that comes.
func (c *workerPool) next(w *worker) *Request {
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

// becomeWorker takes from the thread what the server does not have either, gives it
// a umask of its own, and keeps signals from it (see listener.hand). It names the
// step that failed.
func becomeWorker(ruleset int) (step string, err error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	self := &stub.Task{}
	for _, s := range []struct {
		name string
		run  func() error
	}{
		{"supervisor", sys.BlockSignals},
		{"supervisor", func() error { return unix.Unshare(unix.CLONE_FS) }},
		{"capabilities", func() error { return unix.Capset(&hdr, &none[0]) }},
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"landlock", func() error { return self.LandlockRestrictSelf(ruleset) }},
	} {
		if err := s.run(); err != nil {
			return s.name, err
		}
	}
	return "", nil
}
