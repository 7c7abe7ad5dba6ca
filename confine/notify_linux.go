package confine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// The kernel's side of user notification: seccomp_unotify(2), linux/seccomp.h.

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	tid   uint32 // a thread's number, in the PID namespace of the supervisor
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// addFD is struct seccomp_notif_addfd.
type addFD struct {
	id       uint64
	flags    uint32
	src      uint32
	to       uint32
	newFlags uint32
}

const (
	notifRecv     = 0xc0502100
	notifSend     = 0xc0182101
	notifIDValid  = 0x40082102
	notifAddFD    = 0x40182103
	notifSetFlags = 0x40082104

	notifContinue   = 1      // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	notifSyncWakeUp = 1      // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
	addFDSend       = 1 << 1 // SECCOMP_ADDFD_FLAG_SEND
)

// listener is the descriptor that the kernel gave for a filter.
type listener int

// tune has the kernel wake the supervisor on the processor of the caller, which
// makes a call several times faster (Linux 6.6). Elsewhere nothing is lost but time.
func (l listener) tune() {
	unix.Syscall(unix.SYS_IOCTL, uintptr(l), notifSetFlags, notifSyncWakeUp)
}

// first lets others go first until there is a call, for a while.
func (l listener) first() {
	for range manyTurns {
		if readable(int(l), 0) {
			return
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

// receive waits for the next call: at first until there seems to be one, because
// NOTIF_RECV itself has no timeout and the call may be gone again.
func (l listener) receive(call *notification) syscall.Errno {
	*call = notification{} // the kernel insists
	soon := unix.Timespec{Nsec: patience}
	fds := [1]unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&soon)), 0, 0, 0)
	if n == 0 { // before Linux 6.11 nothing ends NOTIF_RECV when everybody is gone
		readable(int(l), -1)
	}
	if fds[0].Revents&unix.POLLIN == 0 && l.over() {
		return unix.ENOENT
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), notifRecv, uintptr(unsafe.Pointer(call)))
	return errno
}

// over reports whether nobody has the filter any more.
func (l listener) over() bool {
	fds := []unix.PollFd{{Fd: int32(l)}}
	n, _ := unix.Poll(fds, 0)
	return n > 0 && fds[0].Revents&unix.POLLHUP != 0
}

// valid reports whether the call is still waited for. Until then what was read
// through its thread's number may have come from another process.
func (l listener) valid(id uint64) bool {
	return l.ioctl(notifIDValid, unsafe.Pointer(&id)) == 0
}

// ioctl tries again where a signal came between: the kernel takes a lock first,
// and has done nothing by then.
func (l listener) ioctl(op uintptr, arg unsafe.Pointer) syscall.Errno {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l), op, uintptr(arg))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// finish answers a call with a result, or with an error when errno is not 0. That
// nobody waits any more is no concern of ours.
func (l listener) finish(id uint64, errno syscall.Errno) {
	l.send(answer{id: id, errno: -int32(errno)})
}

// proceed lets the kernel carry the call out as it stands by then.
func (l listener) proceed(id uint64) { l.send(answer{id: id, flags: notifContinue}) }

func (l listener) send(a answer) { l.ioctl(notifSend, unsafe.Pointer(&a)) }

// hand answers a call with a descriptor: the caller gets a copy of the task's fd. The
// task has the listener by the number handle.
//
// A task that is the calling thread must have its signals blocked. The kernel waits here
// until the caller has taken the descriptor; a signal ends that wait and takes the
// descriptor back, but not the answer, and the caller would get 0 for the number of its
// file. Tasks of a stub have no handlers, so nothing comes between.
func (l listener) hand(t *stub.Task, handle int, id uint64, fd int, cloexec bool) {
	a := addFD{id: id, flags: addFDSend, src: uint32(fd)}
	if cloexec {
		a.newFlags = unix.O_CLOEXEC
	}
	if _, err := t.Ioctl(handle, notifAddFD, unsafe.Slice((*byte)(unsafe.Pointer(&a)), unsafe.Sizeof(a))); err != nil {
		l.finish(id, asErrno(err)) // EMFILE: the caller's own limit
	}
}
