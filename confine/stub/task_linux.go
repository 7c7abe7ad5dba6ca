package stub

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mailbox is what a task and this program tell each other. The offsets are known to entry.
type mailbox struct {
	owner       uint32 // futex(2): whose it is
	stubAsleep  uint32 // the task waits for turn to change
	hostWaiting uint32 // somebody here does
	spin        uint32 // how often the task looks for a next list before it sleeps
	count       uintptr
	first       uintptr // the first of so many items
	remaining   uintptr // how many of them were not made, and the one that failed
	fatal       uint32  // one that fails ends the process
}

// Values of turn. The kernel sets it to nobody's when a task that was forked executes
// another program or ends (CLONE_CHILD_CLEARTID).
const (
	ownerNone = iota
	ownerStub // there are calls to be made
	ownerHost // they are made, or none was to be made yet
)

// Task is one thread of control of a stub; the zero value is the calling thread. It may
// be used by one goroutine at a time.
type Task struct {
	stub    *Stub // nil: none
	mailbox *mailbox
	memory  []byte // its list, and room
	arena   []byte // for what arguments point to
	used    int
	full    bool // something had no room

	calls       []call
	completions []func() error
	fixups      []fixup
	batches     int // that were recorded
	firstFuture int // where the results of the latest begin
	recording   bool
	submitted   bool
	optional    bool
	onOptional  func() error // of what is tried
	repeatUntil int
}

// errExited is the error of calls of a task that has ended, or executes another program.
var errExited = errors.New("the process that builds the jail was ended" + EndedBy)

// EndedBy is who can have ended a stub, and what to do then.
const EndedBy = ": by somebody's SIGKILL, by the kernel for want of memory, or by a filter of system calls that a container has around mcp-jail. The kernel's log tells (dmesg); start it again, in the last case with more calls allowed"

// Of linux/futex.h.
const (
	futexWait  = 0
	futexWake  = 1
	allWaiters = 1<<31 - 1
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
	t.post(append(t.callMemory()[:0], call{nr: nr, args: t.stub.resolveAll(a), flags: t.repeatFlag(), accept: uintptr(t.repeatUntil)}), 0)
	t.repeatUntil = 0
	if t.await(false) != ownerHost {
		return 0, errExited
	}
	r := t.callMemory()[:1][0].result
	if errno := syscall.Errno(-r); errno > 0 && errno < 4096 {
		return 0, errno
	}
	return r, nil
}

func (t *Task) repeatFlag() uint32 {
	if t.repeatUntil != 0 {
		return repeatUntil
	}
	return 0
}

// resolveAll puts results in the place of the numbers that stand for them.
func (s *Stub) resolveAll(args [6]uintptr) [6]uintptr {
	for k, a := range args {
		if p := s.futureOf(a); p != nil && p.done {
			args[k] = p.result
		}
	}
	return args
}

// post has the task make these calls, which are in its memory.
func (t *Task) post(items []call, fatal uint32) {
	b := t.mailbox
	t.calls = items
	b.fatal = fatal
	b.count, b.first = uintptr(len(items)), uintptr(unsafe.Pointer(unsafe.SliceData(items)))
	atomic.StoreUint32(&b.hostWaiting, 0)
	if !atomic.CompareAndSwapUint32(&b.owner, ownerHost, ownerStub) {
		return // there is no such task any more
	}
	if atomic.LoadUint32(&b.stubAsleep) != 0 {
		wake(&b.owner)
	}
}

// How long one list is waited for before a look at the others: it may be waiting for what
// one of those was to do, and failed to.
const minPoll, maxPoll = 2_000_000, 100_000_000 // nanoseconds

// await waits until the calls are made, or never will be. With others it gives up, and
// returns theirs, where another task's list has failed.
func (t *Task) await(others bool) (turn uint32) {
	b := t.mailbox
	if turn := atomic.LoadUint32(&b.owner); turn != ownerStub {
		return turn
	}
	atomic.StoreUint32(&b.hostWaiting, 1)
	pause := unix.Timespec{Nsec: minPoll}
	for {
		if turn := atomic.LoadUint32(&b.owner); turn != ownerStub {
			return turn
		}
		var timeout uintptr
		if others {
			timeout = uintptr(unsafe.Pointer(&pause))
		}
		_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&b.owner)), futexWait, ownerStub, timeout, 0, 0)
		if t.stub.exited.Load() {
			return ownerNone
		}
		if errno == unix.ETIMEDOUT {
			if t.stub.otherFailed(t) {
				return ownerStub
			}
			pause.Nsec = min(2*pause.Nsec, maxPoll)
		}
	}
}

// failed tells whether a list of the task has stopped before its end.
func (t *Task) failed() bool {
	return t.submitted && atomic.LoadUint32(&t.mailbox.owner) == ownerHost && t.mailbox.remaining > 0
}

func wake(word *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, allWaiters, 0, 0, 0)
}
