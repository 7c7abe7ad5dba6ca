package seccomp

import (
	"syscall"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// The kernel's side of user notification: seccomp_unotify(2), linux/seccomp.h.

// notification is struct seccomp_notif.
type Notification struct {
	Id    uint64
	Tid   uint32 // a thread's number, in the PID namespace of the supervisor
	flags uint32
	Nr    int32
	arch  uint32
	ip    uint64
	Args  [6]uint64
}

// answer is struct seccomp_notif_resp.
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
	NotifRecv     = 0xc0502100
	NotifSend     = 0xc0182101
	notifIDValid  = 0x40082102
	notifAddFD    = 0x40182103
	notifSetFlags = 0x40082104

	NotifContinue   = 1      // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	notifSyncWakeUp = 1      // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
	addFDSend       = 1 << 1 // SECCOMP_ADDFD_FLAG_SEND
)

// listener is the descriptor that the kernel gave for a filter.
type Listener int

// tune has the kernel wake the supervisor on the processor of the caller, which
// makes a call several times faster (Linux 6.6). Elsewhere nothing is lost but time.
func (l Listener) SetSyncWakeup() {
	unix.Syscall(unix.SYS_IOCTL, uintptr(l), notifSetFlags, notifSyncWakeUp)
}

// first lets others go first until there is a call, for a while.
func (l Listener) WaitFirst() {
	for range sys.LongSpin {
		if sys.WaitReadable(int(l), 0) {
			return
		}
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
}

// receive waits for the next call: at first until there seems to be one, because
// NOTIF_RECV itself has no timeout and the call may be gone again.
func (l Listener) Receive(n *Notification) syscall.Errno {
	*n = Notification{} // the kernel insists
	soon := unix.Timespec{Nsec: sys.BusyWaitNs}
	fds := [1]unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}
	unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1, uintptr(unsafe.Pointer(&soon)), 0, 0, 0)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), NotifRecv, uintptr(unsafe.Pointer(n)))
	return errno
}

// valid reports whether the call is still waited for. Until then what was read
// through its thread's number may have come from another process.
func (l Listener) Valid(id uint64) bool {
	return l.ioctl(notifIDValid, unsafe.Pointer(&id)) == 0
}

// ioctl tries again where a signal came between: the kernel takes a lock first,
// and has done nothing by then.
func (l Listener) ioctl(op uintptr, arg unsafe.Pointer) syscall.Errno {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l), op, uintptr(arg))
		if errno != unix.EINTR {
			return errno
		}
	}
}

// finish answers a call with a result, or with an error when errno is not 0. That
// nobody waits any more is no concern of ours.
func (l Listener) Respond(id uint64, errno syscall.Errno) {
	l.Send(Response{Id: id, Errno: -int32(errno)})
}

// proceed lets the kernel carry the call out as it stands by then.
func (l Listener) Continue(id uint64) { l.Send(Response{Id: id, flags: NotifContinue}) }

func (l Listener) Send(a Response) { l.ioctl(NotifSend, unsafe.Pointer(&a)) }

// hand answers a call with a descriptor: the caller gets a copy of fd.
//
// The calling thread must have its signals blocked. The kernel waits here until the
// caller has taken the descriptor; a signal ends that wait and takes the descriptor
// back, but not the answer, and the caller would get 0 for the number of its file.
func (l Listener) AddFD(id uint64, fd int, cloexec bool) {
	a := addFD{id: id, flags: addFDSend, src: uint32(fd)}
	if cloexec {
		a.newFlags = unix.O_CLOEXEC
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l), notifAddFD, uintptr(unsafe.Pointer(&a))); errno != 0 {
		l.Respond(id, errno) // EMFILE: the caller's own limit
	}
}
