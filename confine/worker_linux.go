package confine

import (
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

// idleWorkers are those that wait. The one that came last goes first: the others
// can sleep on.
type idleWorkers struct {
	mu   sync.Mutex
	some *sync.Cond
	all  []*worker
}

func newIdleWorkers() *idleWorkers {
	i := &idleWorkers{}
	i.some = sync.NewCond(&i.mu)
	return i
}

func (i *idleWorkers) push(w *worker) {
	i.mu.Lock()
	i.all = append(i.all, w)
	i.mu.Unlock()
	i.some.Signal()
}

// pop returns nil when there is none and it is not to wait for one.
func (i *idleWorkers) pop(wait bool) *worker {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.all) == 0 {
		if !wait {
			return nil
		}
		i.some.Wait()
	}
	w := i.all[len(i.all)-1]
	i.all = i.all[:len(i.all)-1]
	return w
}

// becomeWorker takes from the thread what the server does not have either, gives it
// a umask of its own, and keeps signals from it (see listener.hand). It names the
// step that failed.
func becomeWorker(ruleset int) (step string, err error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	self := &stub.Task{}
	for _, s := range []buildStep{
		{"supervisor", self, blockSignals},
		{"supervisor", self, func() error { return unix.Unshare(unix.CLONE_FS) }},
		{"capabilities", self, func() error { return unix.Capset(&hdr, &none[0]) }},
		{"no_new_privs", self, func() error { return noNewPrivileges(self) }},
		{"landlock", self, func() error { return restrictThread(self, ruleset) }},
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
