package session

import (
	"os"
	"syscall"
	"unsafe"
)

const pollIn, pollOut, pollErr, pollHup = 0x1, 0x4, 0x8, 0x10

// poll asks the kernel what f is ready for. Without a timeout it waits. ok is false if the
// kernel does not say.
func poll(f *os.File, events int16, timeout *syscall.Timespec) (ready int16, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	raw.Control(func(fd uintptr) {
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd), events: events}
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(timeout)), 0, 0, 0)
		ready, ok = p.revents, errno == 0 && n > 0
	})
	return ready, ok
}

// PeerClosed reports whether every descriptor of the other end of f is closed. poll(2)
// sees that even while unread data remains, which a read cannot.
func PeerClosed(f *os.File) bool {
	ready, ok := poll(f, 0, new(syscall.Timespec))
	return ok && ready&(pollErr|pollHup) != 0
}

func readable(f *os.File) bool {
	ready, ok := poll(f, pollIn, new(syscall.Timespec))
	return ok && ready != 0
}

// waitReady waits until f can be read or written, or a second has passed. The caller tries
// again.
func waitReady(f *os.File, write bool) {
	events := int16(pollIn)
	if write {
		events = pollOut
	}
	poll(f, events, &syscall.Timespec{Sec: 1})
}

// UnreadBytes returns how many bytes of a pipe have not been read yet. f is either end.
func UnreadBytes(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	const fionread = 0x541b
	n := int32(0)
	raw.Control(func(fd uintptr) {
		syscall.Syscall(syscall.SYS_IOCTL, fd, fionread, uintptr(unsafe.Pointer(&n)))
	})
	return int(n)
}
