package stub

import (
	"encoding/binary"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Child is the task with that number, which is not there yet. Of each number there may be
// one. A list can be started already, which is what it does first.
func (t *Task) Child(number int) *Task {
	child := t.stub.task(number)
	*child.mailbox = mailbox{}
	atomic.StoreUint32(&child.mailbox.owner, ownerHost)
	if t.stub.exited.Load() {
		atomic.StoreUint32(&child.mailbox.owner, ownerNone)
	}
	t.stub.tasks = append(t.stub.tasks, child)
	return child
}

// Fork makes a child process of the task. They share their memory, and what the flags of
// clone(2) say besides. The number is the one that the task knows the child by; that of
// the pidfd is given when it is known.
func (t *Task) Fork(child *Task, flags uintptr, pidfd *int) (pid int, err error) {
	t.prepareArena()
	at := t.alloc(4)
	box := uintptr(unsafe.Pointer(child.mailbox))
	a := cloneArgs(flags|unix.CLONE_VM|unix.CLONE_CHILD_CLEARTID|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), box, address(at), box)
	if pid, err = t.call(unix.SYS_CLONE, a[:]...); err != nil {
		return pid, err
	}
	return pid, t.OnComplete(func() error { *pidfd = int(int32(binary.NativeEndian.Uint32(at))); return nil })
}

// SetEvent tells all tasks of something, once.
func (t *Task) SetEvent(m *Event) error {
	const set = 0<<28 | 1<<12 // FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)
	word := uintptr(unsafe.Pointer(m))
	return t.do(unix.SYS_FUTEX, word, futexWakeOp, allWaiters, 0, word, set)
}

// WaitEvent waits for it.
func (t *Task) WaitEvent(m *Event) error {
	return t.do(unix.SYS_FUTEX, uintptr(unsafe.Pointer(m)), futexWait, 0, 0)
}

// HostWaitEvent waits until something has happened, or will not any more when the task's list
// has come to its end. Who is to mark it may be on his way to do so by then, and have to wait
// for a processor.
func (t *Task) HostWaitEvent(m *Event) bool {
	soon := unix.Timespec{Nsec: minPoll / 2}
	var ended time.Time
	for {
		if atomic.LoadUint32((*uint32)(m)) != 0 {
			return true
		}
		switch {
		case t.stub.exited.Load():
			return false
		case atomic.LoadUint32(&t.mailbox.owner) == ownerStub:
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > eventGrace:
			return false
		}
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(m)), futexWait, 0, uintptr(unsafe.Pointer(&soon)), 0, 0)
	}
}

// eventGrace is for how long, on a machine with much else to do.
const eventGrace = 2 * time.Second

// Ended tells whether the task is none any more.
func (t *Task) Ended() bool { return atomic.LoadUint32(&t.mailbox.owner) == ownerNone }

// Event is something that happens once, in the memory of a stub.
type Event uint32

const futexWakeOp = 5

// NewEvent is one of a few.
func (s *Stub) NewEvent() *Event {
	m := (*Event)(unsafe.Pointer(&s.memory[eventsAt+4*s.events]))
	s.events++
	return m
}

// Exec has the task execute a program. The last call of a list, and all that tells of its
// success is that the task is none any more: see [Task.WaitExec].
func (t *Task) Exec(path string, argv, env []string) error {
	t.prepareArena()
	return t.do(unix.SYS_EXECVE, t.path(path), t.cStrings(argv), t.cStrings(env))
}

// ExecAt is Exec of an open file.
func (t *Task) ExecAt(fd int, argv, env []string) error {
	t.prepareArena()
	return t.do(unix.SYS_EXECVEAT, uintptr(fd), t.path(""), t.cStrings(argv), t.cStrings(env), unix.AT_EMPTY_PATH)
}

// WaitExec waits for a list that ends with an execution. Without an error the task is none
// any more: it may have ended.
func (t *Task) WaitExec() error {
	err := t.Wait()
	if err == errExited && !t.stub.exited.Load() {
		return nil
	}
	return err
}

// Poll waits for one of some descriptors, at most for as long as it takes (milliseconds;
// below zero there is no end).
func (t *Task) Poll(milliseconds int, fds ...int) error {
	t.prepareArena()
	at := t.alloc(8 * len(fds))
	for i, fd := range fds {
		t.storeInt32(at[8*i:], fd)
		binary.NativeEndian.PutUint32(at[8*i+4:], uint32(uint16(unix.POLLIN)))
	}
	var timeout uintptr
	if milliseconds >= 0 {
		ts := unix.NsecToTimespec(int64(milliseconds) * 1e6)
		timeout = copyStruct(t, &ts)
	}
	return t.do(unix.SYS_PPOLL, address(at), uintptr(len(fds)), timeout, 0, 0)
}

// ContinueNext takes the next call that a filter hands over, and has the kernel carry it
// out (seccomp_unotify(2)).
func (t *Task) ContinueNext(listener int, receive, send uintptr, notification int, proceed uint32) error {
	t.prepareArena()
	n := t.alloc(notification)
	clear(n)
	if err := t.do(unix.SYS_IOCTL, uintptr(listener), receive, address(n)); err != nil {
		return err
	}
	answer := t.alloc(24)
	clear(answer)
	binary.NativeEndian.PutUint32(answer[20:], proceed)
	// The number of the call has to go from the one to the other. A list cannot copy, but
	// an eventfd says what it was told: any number but the first and the last of 2^64, of
	// which the kernel begins with a random one.
	counter, err := t.call(unix.SYS_EVENTFD2, 0, unix.EFD_CLOEXEC)
	if err == nil {
		_, err = t.call(unix.SYS_WRITE, uintptr(counter), address(n), 8)
	}
	if err == nil {
		_, err = t.call(unix.SYS_READ, uintptr(counter), address(answer), 8)
	}
	if err != nil {
		return err
	}
	return t.do(unix.SYS_IOCTL, uintptr(listener), send, address(answer))
}

// ReserveFD opens a descriptor with that number or a higher one, which the execution of a
// program closes. The table that it is in stays as large.
func (t *Task) ReserveFD(number int) error {
	return t.do(unix.SYS_FCNTL, 0, unix.F_DUPFD_CLOEXEC, uintptr(number))
}
