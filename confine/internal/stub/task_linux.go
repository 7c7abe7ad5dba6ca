package stub

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mailbox is the memory by which the launcher (this program) and a task exchange batches. The
// assembler code of entry knows the offsets.
type mailbox struct {
	owner           uint32 // a futex(2) word: the side that may use the mailbox
	stubAsleep      uint32 // the task sleeps until owner changes
	launcherWaiting uint32 // the launcher sleeps, or is about to, until owner changes
	spin            uint32 // how often the task yields its processor before it sleeps
	count           uintptr
	first           uintptr       // the address of the first of count calls
	remaining       uintptr       // of count: the calls not made, and the one that failed
	fatal           uint32        // not 0: the process exits if a call fails
	life            unix.PollFd   // for LifeFD
	lifeInterval    unix.Timespec // the time between two looks at LifeFD while the task sleeps
}

// emptyMailbox is the content of a new task's mailbox.
var emptyMailbox = mailbox{owner: ownerLauncher, life: unix.PollFd{Fd: LifeFD}, lifeInterval: unix.Timespec{Sec: 1}}

// Values of owner. The kernel sets it to ownerNone when a forked task exits or executes
// another program (CLONE_CHILD_CLEARTID).
const (
	ownerNone     = iota
	ownerStub     // the task makes the calls
	ownerLauncher // the launcher may submit a batch
)

// Task is one process of a stub. The zero value is the calling thread. One goroutine at a
// time may use a task.
type Task struct {
	stub    *Stub // nil for the calling thread
	mailbox *mailbox
	memory  []byte // the calls, and after them the arena
	arena   arena

	calls       []call         // of the current batch
	completions []func() error // given to OnComplete
	fixups      []fixup
	batches     int  // how many were begun
	firstFuture int  // of the current batch
	batching    bool // between Begin and Submit
	submitted   bool // between Submit and Wait
	optional    bool // inside Optional
	onOptional  func() error
	repeatUntil int // the wanted result of the next call, or 0
}

// errExited is the error of a task that has exited or executes another program.
var errExited = errors.New("the process that builds the jail was ended" + EndedBy)

// EndedBy is the end of an error message: it lists what can have ended a stub, and what to do.
const EndedBy = ": by a SIGKILL, by the kernel when memory ran out, or by the system call filter of a container that mcp-jail runs in. The kernel's log tells which (dmesg). Start it again; in a container, allow it more system calls"

// From linux/futex.h.
const (
	futexWait  = 0
	futexWake  = 1
	allWaiters = 1<<31 - 1
)

// Call makes a system call. Pointers among the arguments must point into the task's arena.
// The functions named like those of package unix put their arguments there. If they did not fit, Call
// fails with ENOMEM.
func (t *Task) Call(nr uintptr, args ...uintptr) (uintptr, error) {
	if t.arena.full && !t.batching {
		return 0, unix.ENOMEM
	}
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
	if t.batching {
		return t.collect(nr, a), nil
	}
	t.post(append(t.callMemory()[:0], call{nr: nr, args: t.stub.resolveAll(a), flags: t.repeatFlag(), accept: uintptr(t.repeatUntil)}), 0)
	t.repeatUntil = 0
	if t.await(false) != ownerLauncher {
		return 0, errExited
	}
	// The kernel returns errors as small negative numbers.
	r := t.callMemory()[:1][0].result
	if errno := syscall.Errno(-r); errno > 0 && errno < 4096 {
		return 0, errno
	}
	return r, nil
}

// call is Call, and empties the arena.
func (t *Task) call(nr uintptr, args ...uintptr) (int, error) {
	if !t.batching {
		defer t.arena.reset() // its content stays until the next call, for OnComplete
	}
	r, err := t.Call(nr, args...)
	if err != nil {
		return -1, err
	}
	return int(r), nil
}

func (t *Task) do(nr uintptr, args ...uintptr) error {
	_, err := t.call(nr, args...)
	return err
}

func (t *Task) repeatFlag() uint32 {
	if t.repeatUntil != 0 {
		return repeatUntil
	}
	return 0
}

func (s *Stub) resolveAll(args [6]uintptr) [6]uintptr {
	for k, a := range args {
		if p := s.futureOf(a); p != nil && p.done {
			args[k] = p.result
		}
	}
	return args
}

func (t *Task) post(calls []call, fatal uint32) {
	b := t.mailbox
	t.calls = calls
	b.fatal = fatal
	b.count, b.first = uintptr(len(calls)), uintptr(unsafe.Pointer(unsafe.SliceData(calls)))
	atomic.StoreUint32(&b.launcherWaiting, 0)
	if !atomic.CompareAndSwapUint32(&b.owner, ownerLauncher, ownerStub) {
		return // the task has exited
	}
	if atomic.LoadUint32(&b.stubAsleep) != 0 {
		wake(&b.owner)
	}
}

// minPoll and maxPoll, in nanoseconds, bound the time between two looks at the other tasks:
// the awaited batch may wait for a batch of another task, and that batch may have failed.
const minPoll, maxPoll = 2_000_000, 100_000_000

// await waits until the task has made its calls or has exited, and returns the mailbox's
// owner. If others is true and another task's batch fails, await gives up and returns
// ownerStub.
func (t *Task) await(others bool) (owner uint32) {
	b := t.mailbox
	if owner := atomic.LoadUint32(&b.owner); owner != ownerStub {
		return owner
	}
	// The task wakes the launcher only if this is set: it saves a call for a batch that ends soon.
	atomic.StoreUint32(&b.launcherWaiting, 1)
	pause := unix.Timespec{Nsec: minPoll}
	for {
		if owner := atomic.LoadUint32(&b.owner); owner != ownerStub {
			return owner
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

func (t *Task) failed() bool {
	return t.submitted && atomic.LoadUint32(&t.mailbox.owner) == ownerLauncher && t.mailbox.remaining > 0
}

func wake(word *uint32) {
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, allWaiters, 0, 0, 0)
}
