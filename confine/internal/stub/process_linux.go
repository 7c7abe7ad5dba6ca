package stub

import (
	"encoding/binary"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Child returns the task that Fork will start, with its number from 1. Each number can be
// used once. A batch may be submitted to it before Fork.
func (t *Task) Child(number int) *Task {
	child := t.stub.task(number)
	*child.mailbox = emptyMailbox
	if t.stub.exited.Load() {
		atomic.StoreUint32(&child.mailbox.owner, ownerNone)
	}
	t.stub.tasks = append(t.stub.tasks, child)
	return child
}

// Fork starts child as a child process of the task, with flags of clone(2). The two always share
// their memory. The returned number is the child's in the task's PID namespace. *pidfd is set
// when the call has been made.
func (t *Task) Fork(child *Task, flags uintptr, pidfd *int) (pid int, err error) {
	at := t.arena.alloc(4)
	mailbox := uintptr(unsafe.Pointer(child.mailbox))
	a := cloneArgs(flags|unix.CLONE_VM|unix.CLONE_CHILD_CLEARTID|unix.CLONE_PIDFD|uintptr(unix.SIGCHLD), mailbox, address(at), mailbox)
	if pid, err = t.call(unix.SYS_CLONE, a[:]...); err != nil {
		return pid, err
	}
	return pid, t.OnComplete(func() error { *pidfd = int(int32(binary.NativeEndian.Uint32(at))); return nil })
}

// SetEvent sets an event and wakes all that wait for it.
func SetEvent(t *Task, m *Event) error {
	const set = 0<<28 | 1<<12 // FUTEX_OP(FUTEX_OP_SET, 1, FUTEX_OP_CMP_EQ, 0)
	word := uintptr(unsafe.Pointer(m))
	return t.do(unix.SYS_FUTEX, word, futexWakeOp, allWaiters, 0, word, set)
}

// WaitEvent makes the task wait for an event.
func WaitEvent(t *Task, m *Event) error {
	return t.do(unix.SYS_FUTEX, uintptr(unsafe.Pointer(m)), futexWait, 0, 0)
}

// LauncherWaitEvent waits for an event in the launcher (this program), and reports whether it was
// set. When the task's batch has ended, it waits for eventGrace longer and then gives up: the
// task that sets the event may still wait for a processor.
func (t *Task) LauncherWaitEvent(m *Event) bool {
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

// eventGrace is long enough for a loaded machine.
const eventGrace = 2 * time.Second

// Ended reports whether the task has exited or executes another program.
func (t *Task) Ended() bool { return atomic.LoadUint32(&t.mailbox.owner) == ownerNone }

// Event is a flag in the memory of a stub. It is set once.
type Event uint32

const futexWakeOp = 5

// NewEvent returns an event. A stub has room for some hundred.
func (s *Stub) NewEvent() *Event {
	m := (*Event)(unsafe.Pointer(&s.memory[eventsAt+4*s.events]))
	s.events++
	return m
}

// Exec makes the task execute a program. It must be the last call of a batch. If it
// succeeds, the task has ended: see [Task.WaitExec].
func Exec(t *Task, path string, argv, env []string) error {
	return t.do(unix.SYS_EXECVE, t.Path(path), t.cStrings(argv), t.cStrings(env))
}

// ExecAt is Exec of an open file.
func ExecAt(t *Task, fd int, argv, env []string) error {
	return t.do(unix.SYS_EXECVEAT, uintptr(fd), t.Path(""), t.cStrings(argv), t.cStrings(env), unix.AT_EMPTY_PATH)
}

// WaitExec is Wait for a batch that ends with Exec. It returns nil if the task executes the
// program, or was ended meanwhile.
func (t *Task) WaitExec() error {
	err := t.Wait()
	if err == errExited && !t.stub.exited.Load() {
		return nil
	}
	return err
}

// WaitChild waits until a child of the task has ended, and does not reap it.
func WaitChild(t *Task) error {
	return t.do(unix.SYS_WAITID, unix.P_ALL, 0, 0, unix.WEXITED|unix.WNOWAIT, 0)
}

// Exit ends the task.
func Exit(t *Task) error { return t.do(unix.SYS_EXIT_GROUP, 0) }

// Poll waits until one of the descriptors is readable, at most the given time. A negative
// time has no limit.
func Poll(t *Task, milliseconds int, fds ...int) error {
	_, err := poll(t, milliseconds, fds)
	return err
}

// PollUnused is Poll. If afterwards the last descriptor is hung up and not readable, the task sleeps for a
// while: such a listener of a seccomp filter has no task left whose call could arrive. The outcome is
// ETIMEDOUT after such a sleep (see Task.Optional).
func PollUnused(t *Task, milliseconds, sleep int, fds ...int) (outcome func() error) {
	at, err := poll(t, milliseconds, fds)
	if err != nil || len(at) == 0 {
		return func() error { return err }
	}
	// A batch has no branches. The kernel waits only if a word has the value that it is given, and what
	// was asked for and what it answered are one word.
	answer := at[len(at)-4:]
	const hungUp = unix.POLLIN | unix.POLLHUP<<16
	ts := unix.NsecToTimespec(int64(sleep) * 1e6)
	return t.Optional(func() error {
		return t.do(unix.SYS_FUTEX, address(answer), futexWait, hungUp, copyStruct(t, &ts))
	})
}

func poll(t *Task, milliseconds int, fds []int) (at []byte, err error) {
	at = t.arena.alloc(8 * len(fds))
	for i, fd := range fds {
		t.storeInt32(at[8*i:], fd)
		binary.NativeEndian.PutUint32(at[8*i+4:], uint32(uint16(unix.POLLIN)))
	}
	var timeout uintptr
	if milliseconds >= 0 {
		ts := unix.NsecToTimespec(int64(milliseconds) * 1e6)
		timeout = copyStruct(t, &ts)
	}
	return at, t.do(unix.SYS_PPOLL, address(at), uintptr(len(fds)), timeout, 0, 0)
}

// ContinueNext receives the next notification of a seccomp filter and lets the kernel make
// the call (seccomp_unotify(2), SECCOMP_USER_NOTIF_FLAG_CONTINUE).
func ContinueNext(t *Task, listener int, receive, send uintptr, notification int, flags uint32) error {
	n, response := t.arena.alloc(notification), t.arena.alloc(24)
	clear(n)
	clear(response)
	if err := t.do(unix.SYS_IOCTL, uintptr(listener), receive, address(n)); err != nil {
		return err
	}
	binary.NativeEndian.PutUint32(response[20:], flags)
	// The notification's id must be copied into the response. A batch cannot copy memory,
	// but an eventfd returns the number that was written to it. That works for all numbers
	// but 0 and 2^64-1; the kernel's ids start at a random one.
	counter, err := t.call(unix.SYS_EVENTFD2, 0, unix.EFD_CLOEXEC)
	if err == nil {
		_, err = t.call(unix.SYS_WRITE, uintptr(counter), address(n), 8)
	}
	if err == nil {
		_, err = t.call(unix.SYS_READ, uintptr(counter), address(response), 8)
	}
	if err != nil {
		return err
	}
	return t.do(unix.SYS_IOCTL, uintptr(listener), send, address(response))
}

// ReserveFD opens a descriptor with this number or a higher one, which Exec closes. The
// kernel's table of descriptors keeps the size.
func ReserveFD(t *Task, number int) error {
	return t.do(unix.SYS_FCNTL, 0, unix.F_DUPFD_CLOEXEC, uintptr(number))
}
