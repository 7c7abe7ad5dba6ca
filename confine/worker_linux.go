package confine

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// A worker carries calls out. It waits in the kernel for the next one: Go's
// scheduler would have two more threads take part in every hand-over.
type worker struct {
	given uint32 // futex(2): 1 when next is set
	next  *request
}

// Of linux/futex.h: FUTEX_WAIT and FUTEX_WAKE with FUTEX_PRIVATE_FLAG.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

func (w *worker) give(r *request) {
	w.next = r
	atomic.StoreUint32(&w.given, 1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), futexWakePrivate, 1, 0, 0, 0)
}

// patience is for how long, in nanoseconds, the supervisor's threads wait for what
// often comes at once, without telling Go's scheduler that they wait. Once it is
// told, it takes from the thread what the thread needs to go on, and getting that
// back costs more than the call. Whatever stops the world waits for that long.
const patience = 100_000

func (w *worker) await() *request {
	if atomic.LoadUint32(&w.given) == 0 {
		soon := unix.Timespec{Nsec: patience}
		unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), futexWaitPrivate, 0, uintptr(unsafe.Pointer(&soon)), 0, 0)
	}
	for !atomic.CompareAndSwapUint32(&w.given, 1, 0) {
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w.given)), futexWaitPrivate, 0, 0, 0, 0)
	}
	return w.next
}

// A crew is the workers of a jail, and the requests that there is no worker for yet.
type crew struct {
	mu      sync.Mutex
	hired   int
	idle    []*worker  // the one that came last goes first: the others can sleep on
	waiting []*request // while all of maxWorkers are busy
	asleep  int        // requests that are tried again later
}

// maxHeld bounds the requests that wait or sleep, each of which holds descriptors. A
// server has as many only where it kills those that wait, or may have more threads.
const maxHeld = 1024

// What is to be done with a request.
type assignment int

const (
	assigned assignment = iota // it is given to a worker, or waits for one
	hireOne                    // it is for a new worker
	turnAway                   // there are too many
)

// assign gives a request to a worker that is idle, and never waits for one. stale tells
// of a request whose caller is gone.
func (c *crew) assign(r *request, stale func(*request) bool) assignment {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w.give(r)
		return assigned
	}
	defer c.mu.Unlock()
	if c.hired < maxWorkers {
		c.hired++
		return hireOne
	}
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

func (c *crew) full() bool { return len(c.waiting)+c.asleep >= maxHeld }

// sleep counts one more request that is tried again later, if there may be one.
func (c *crew) sleep() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full() {
		return false
	}
	c.asleep++
	return true
}

func (c *crew) wake() {
	c.mu.Lock()
	c.asleep--
	c.mu.Unlock()
}

// next is the request that a worker carries out next: the one that has waited longest,
// or the next one that comes.
func (c *crew) next(w *worker) *request {
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
		{"supervisor", blockSignals},
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

func blockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}
