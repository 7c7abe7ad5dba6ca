package confine

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A latch is closed once, with an error or none, and waited for. While a jail is being
// built what is waited for is done in some ten microseconds, or is done already, and a
// goroutine on a thread of its own that waits for a channel takes a hundred to come back:
// the runtime has another thread take its place and be woken by it.
type latch struct {
	closed uint32 // futex(2)
	err    error
}

func (l *latch) close(err error) {
	l.err = err
	atomic.StoreUint32(&l.closed, 1)
	unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.closed)), futexWakePrivate, everybody, 0, 0, 0)
}

const everybody = 1<<31 - 1

func (l *latch) isClosed() bool { return atomic.LoadUint32(&l.closed) != 0 }

// soon waits for so long as others are not kept from a processor by it, and reports
// whether the latch is closed.
func (l *latch) soon(turns int) bool {
	for ; turns > 0 && !l.isClosed(); turns-- {
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return l.isClosed()
}

// wait waits for as long as it takes.
func (l *latch) wait() error {
	for !l.isClosed() {
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.closed)), futexWaitPrivate, 0, 0, 0, 0)
	}
	return l.err
}
