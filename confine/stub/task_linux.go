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
	eager   uint32 // how often the task looks for a next list before it sleeps
	count   uintptr
	list    uintptr // the first of so many items
	left    uintptr // how many of them were not made, and the one that failed
	fatal   uint32  // one that fails ends the process
}

// Values of turn. The kernel sets it to nobody's when a task that was forked executes
// another program or ends (CLONE_CHILD_CLEARTID).
const (
	nobodys = iota
	theirs  // there are calls to be made
	ours    // they are made, or none was to be made yet
)

// Task is one thread of control of a stub; the zero value is the calling thread. It may
// be used by one goroutine at a time.
type Task struct {
	stub   *Stub // nil: none
	b      *box
	memory []byte // its list, and room
	room   []byte // for what arguments point to
	used   int
	full   bool // something had no room

	items     []item
	thens     []func() error
	pending   []pending
	lists     int // that were recorded
	from      int // where the results of the latest begin
	recording bool
	started   bool
	trying    bool
	outcome   func() error // of what is tried
	until     int
}

// errGone is the error of calls of a task that has ended, or executes another program.
var errGone = errors.New("the process that builds the jail was ended" + EndedBy)

// EndedBy is who can have ended a stub, and what to do then.
const EndedBy = ": by somebody's SIGKILL, by the kernel for want of memory, or by a filter of system calls that a container has around mcp-jail. The kernel's log tells (dmesg); start it again, in the last case with more calls allowed"

// Of linux/futex.h.
const (
	futexWait = 0
	futexWake = 1
	everybody = 1<<31 - 1
)

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
	if t.recording {
		return t.record(nr, a), nil
	}
	t.post(append(t.list()[:0], item{nr: nr, args: t.stub.reals(a), flags: t.only(), ok: uintptr(t.until)}), 0)
	t.until = 0
	if t.await(false) != ours {
		return 0, errGone
	}
	r := t.list()[:1][0].result
	if errno := syscall.Errno(-r); errno > 0 && errno < 4096 {
		return 0, errno
	}
	return r, nil
}

func (t *Task) only() uint32 {
	if t.until != 0 {
		return until
	}
	return 0
}

// reals puts results in the place of the numbers that stand for them.
func (s *Stub) reals(args [6]uintptr) [6]uintptr {
	for k, a := range args {
		if p := s.place(a); p != nil && p.done {
			args[k] = p.real
		}
	}
	return args
}

// post has the task make these calls, which are in its memory.
func (t *Task) post(items []item, fatal uint32) {
	b := t.b
	t.items = items
	b.fatal = fatal
	b.count, b.list = uintptr(len(items)), uintptr(unsafe.Pointer(unsafe.SliceData(items)))
	atomic.StoreUint32(&b.waiting, 0)
	if !atomic.CompareAndSwapUint32(&b.turn, ours, theirs) {
		return // there is no such task any more
	}
	if atomic.LoadUint32(&b.asleep) != 0 {
		wake(&b.turn)
	}
}

// How long one list is waited for before a look at the others: it may be waiting for what
// one of those was to do, and failed to.
const firstLook, longestLook = 2_000_000, 100_000_000 // nanoseconds

// await waits until the calls are made, or never will be. With others it gives up, and
// returns theirs, where another task's list has failed.
func (t *Task) await(others bool) (turn uint32) {
	b := t.b
	if turn := atomic.LoadUint32(&b.turn); turn != theirs {
		return turn
	}
	atomic.StoreUint32(&b.waiting, 1)
	pause := unix.Timespec{Nsec: firstLook}
	for {
		if turn := atomic.LoadUint32(&b.turn); turn != theirs {
			return turn
		}
		var timeout uintptr
		if others {
			timeout = uintptr(unsafe.Pointer(&pause))
		}
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.turn)), futexWait, theirs, timeout, 0, 0)
		if t.stub.dead.Load() {
			return nobodys
		}
		if errno == unix.ETIMEDOUT {
			if t.stub.anyFailed(t) {
				return theirs
			}
			pause.Nsec = min(2*pause.Nsec, longestLook)
		}
	}
}

// failed tells whether a list of the task has stopped before its end.
func (t *Task) failed() bool {
	return t.started && atomic.LoadUint32(&t.b.turn) == ours && t.b.left > 0
}

func wake(word *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, everybody, 0, 0, 0)
}
