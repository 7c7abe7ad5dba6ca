package seccomp

import (
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// This file is the supervisor's side of user notification (seccomp_unotify(2),
// linux/seccomp.h).

// Notification is struct seccomp_notif.
type Notification struct {
	Id    uint64
	Tid   uint32 // the calling thread, as the supervisor's PID namespace numbers it
	flags uint32
	Nr    int32
	arch  uint32
	ip    uint64
	Args  [6]uint64
}

// Response is struct seccomp_notif_resp.
type Response struct {
	Id    uint64
	Val   int64
	Errno int32
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
	NotifContinue   = 1      // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	notifSyncWakeUp = 1      // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
	addFDSend       = 1 << 1 // SECCOMP_ADDFD_FLAG_SEND
)

// Listener is the descriptor on which the calls of one filter arrive.
type Listener int

// SetSyncWakeup has the kernel wake the supervisor on the processor of the caller, which
// makes a mediated call several times faster (Linux 6.6). Older kernels refuse the ioctl,
// and calls take longer.
func (l Listener) SetSyncWakeup() {
	unix.Syscall(unix.SYS_IOCTL, uintptr(l), notifSetFlags, notifSyncWakeUp)
}

// WaitFirst yields the processor until a call arrives, for a limited number of turns.
func (l Listener) WaitFirst() {
	for range sys.LongSpin {
		if sys.WaitReadable(int(l), 0) {
			return
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

// Receive waits for the next call. It polls for a short time first, and then waits in
// NOTIF_RECV, which has no timeout.
func (l Listener) Receive(n *Notification) syscall.Errno {
	*n = Notification{} // the kernel requires zeros
	soon := unix.Timespec{Nsec: sys.BusyWaitNs}
	fds := [1]unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&soon)), 0, 0, 0)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), NotifRecv, uintptr(unsafe.Pointer(n)))
	return errno
}

// IsUnused reports whether no task has the filter any more. Then no call arrives, and NOTIF_RECV
// returns ENOENT at once (Linux 6.11).
func (l Listener) IsUnused() bool {
	fds := [1]unix.PollFd{{Fd: int32(l)}}
	n, _, _ := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&unix.Timespec{})), 0, 0, 0)
	return n == 1 && fds[0].Revents&unix.POLLHUP != 0
}

// Valid reports whether the call still waits for an answer. If it does not, data that the
// supervisor has read through the thread's number may come from another process: the number may
// have been reused.
func (l Listener) Valid(id uint64) bool {
	return l.ioctl(notifIDValid, unsafe.Pointer(&id)) == 0
}

// ioctl repeats an ioctl that a signal interrupts. The kernel returns EINTR while it waits
// for a lock, before it has done anything.
func (l Listener) ioctl(op uintptr, arg unsafe.Pointer) syscall.Errno {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l), op, uintptr(arg))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// Respond answers a call with 0, or with an error if errno is not 0. It ignores that the
// caller may have ended.
func (l Listener) Respond(id uint64, errno syscall.Errno) {
	l.Send(Response{Id: id, Errno: -int32(errno)})
}

// Continue lets the kernel carry out the call, with the arguments that are in memory then.
func (l Listener) Continue(id uint64) { l.Send(Response{Id: id, flags: NotifContinue}) }

// Send answers a call.
func (l Listener) Send(a Response) { l.ioctl(NotifSend, unsafe.Pointer(&a)) }

// AddFD answers a call with a descriptor: the caller gets a copy of fd.
//
// The calling thread must have its signals blocked. The kernel waits here until the caller
// has taken the descriptor. A signal would end the wait and take back the descriptor but
// not the answer, so the caller would get 0 as the number of its file.
func (l Listener) AddFD(id uint64, fd int, cloexec bool) {
	if _, errno := l.addFD(id, fd, addFDSend, cloexec); errno != 0 {
		l.Respond(id, errno) // EMFILE: the caller has reached its limit
	}
}

// MoveFD is AddFD, and closes fd before the caller goes on. While anything has a file open for
// writing, the kernel refuses to execute it: a caller that closes the file and executes it would
// sometimes get ETXTBSY. It takes two calls, between which no signal but a fatal one wakes the
// caller (SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV).
func (l Listener) MoveFD(id uint64, fd int, cloexec bool) {
	number, errno := l.addFD(id, fd, 0, cloexec)
	unix.Close(fd)
	if errno != 0 {
		l.Respond(id, errno)
		return
	}
	l.Send(Response{Id: id, Val: int64(number)})
}

func (l Listener) addFD(id uint64, fd int, flags uint32, cloexec bool) (number uintptr, errno syscall.Errno) {
	a := addFD{id: id, flags: flags, src: uint32(fd)}
	if cloexec {
		a.newFlags = unix.O_CLOEXEC
	}
	number, _, errno = unix.RawSyscall(unix.SYS_IOCTL, uintptr(l), notifAddFD, uintptr(unsafe.Pointer(&a)))
	return number, errno
}
