package stub

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// box is what a task and this program tell each other. The offsets are known to entry.
type box struct {
	turn    uint32 // futex(2): whose it is
	asleep  uint32 // the task waits for turn to change
	waiting uint32 // somebody here does
	eager   uint32 // how often the task looks for a next call before it sleeps
	nr      uintptr
	args    [6]uintptr
	result  uintptr
	count   uintptr // of a list of calls; 0: there is one
	list    uintptr
	left    uintptr // of the list, where one of its calls failed
}

// item is a call of a list, which takes arguments from the results of earlier ones.
type item struct {
	nr     uintptr
	args   [6]uintptr
	result uintptr
	from   [8]byte // for each argument: 0, or which result and one
	ok     uintptr
}

const laterBase = 0x4d430000

// Record has calls put on a list, until Run makes them all. Their results can be
// arguments of later ones, and nothing else.
func (t *Task) Record() {
	t.begin()
	t.items = unsafe.Slice((*item)(unsafe.Pointer(unsafe.SliceData(t.space(200*80)))), 200)[:0]
}

// Run makes the calls of the list, up to the first that fails.
func (t *Task) Run() error {
	list := t.items
	t.items = nil
	if len(list) == 0 {
		return nil
	}
	t.b.count, t.b.list = uintptr(len(list)), uintptr(unsafe.Pointer(&list[0]))
	t.made = list
	defer func() { t.b.count = 0 }()
	_, err := t.Call(0)
	return err
}

// Result is that of a call of the list that was run last.
func (t *Task) Result(i int) int { return int(t.made[i].result) }

// Recording tells whether calls are put on a list.
func (t *Task) Recording() bool { return t.items != nil }

// Real is what a result of the list that was run last became.
func (t *Task) Real(n int) int {
	if i := n - laterBase; i >= 0 && i < len(t.made) {
		return int(t.made[i].result)
	}
	return n
}

func (t *Task) record(nr uintptr, args [6]uintptr) uintptr {
	i := item{nr: nr, args: args}
	switch nr {
	case unix.SYS_MKDIRAT, unix.SYS_SYMLINKAT, unix.SYS_MKNODAT:
		i.ok = ^uintptr(unix.EEXIST) + 1
	case unix.SYS_FACCESSAT:
		i.ok = ^uintptr(unix.ENOENT) + 1
	case unix.SYS_PRCTL:
		if args[0] == unix.PR_CAPBSET_DROP {
			i.ok = ^uintptr(unix.EINVAL) + 1
		}
	}
	for k, a := range args {
		if n := a - laterBase; n < uintptr(len(t.items)) {
			i.from[k] = byte(n + 1)
		}
	}
	t.items = append(t.items, i)
	return laterBase + uintptr(len(t.items)-1)
}

// Values of turn. The kernel sets it to nobody's when a task that was forked executes
// another program or ends (CLONE_CHILD_CLEARTID).
const (
	nobodys = iota
	theirs  // there is a call to be made
	ours    // it is made, or none was to be made yet
)

// Task is one thread of control of a stub; the zero value is the calling thread. It may
// be used by one goroutine at a time.
type Task struct {
	stub  *Stub // nil: none
	b     *box
	room  []byte // for what arguments point to
	used  int
	full  bool // something had no room
	items []item
	made  []item
}

// errGone is the error of calls of a task that has ended, or executes another program.
var errGone = errors.New("the stub is gone")

// Of linux/futex.h.
const (
	futexWait = 0
	futexWake = 1
	everybody = 1<<31 - 1
)

// How often a call that is being made is looked at, some microseconds, and how often
// others go first, some hundred, before this thread sleeps: waking one takes as long.
const looks, patience = 1000, 300

// Call makes a system call. Pointers among the arguments are into the task's own room:
// see the methods that are called like those of package unix.
func (t *Task) Call(nr uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	if t.stub == nil {
		r, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		runtime.KeepAlive(t)
		if errno != 0 {
			return 0, errno
		}
		return r, nil
	}
	if t.items != nil {
		return t.record(nr, a), nil
	}
	t.post(nr, a)
	return t.result()
}

// result waits for what was posted.
func (t *Task) result() (uintptr, error) {
	if t.await() != ours {
		return 0, errGone
	}
	r := t.b.result
	if errno := syscall.Errno(-r); errno > 0 && errno < 4096 {
		return 0, errno
	}
	return r, nil
}

func (t *Task) post(nr uintptr, args [6]uintptr) {
	b := t.b
	b.nr, b.args = nr, args
	atomic.StoreUint32(&b.waiting, 0)
	if !atomic.CompareAndSwapUint32(&b.turn, ours, theirs) {
		return // there is no such task any more
	}
	if atomic.LoadUint32(&b.asleep) != 0 {
		wake(&b.turn)
	}
}

// await waits until the call is made, or never will be.
func (t *Task) await() (turn uint32) {
	b := t.b
	for range looks {
		if turn := atomic.LoadUint32(&b.turn); turn != theirs {
			return turn
		}
	}
	for range patience { // whoever has something to do goes first, above all the task
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		if turn := atomic.LoadUint32(&b.turn); turn != theirs {
			return turn
		}
	}
	atomic.StoreUint32(&b.waiting, 1)
	for {
		if turn := atomic.LoadUint32(&b.turn); turn != theirs {
			return turn
		}
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.turn)), futexWait, theirs, 0, 0, 0)
	}
}

func wake(word *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, everybody, 0, 0, 0)
}
