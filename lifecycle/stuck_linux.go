package lifecycle

import (
	"os"
	"syscall"
	"unsafe"
)

// hungUp reports whether nobody holds the other end of f any more. poll(2) says
// so even while there is unread data, which a read cannot.
func hungUp(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	const pollErr, pollHup = 0x8, 0x10
	up := true
	raw.Control(func(fd uintptr) {
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd)}
		var now syscall.Timespec
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		up = errno != 0 || n == 0 || p.revents&(pollErr|pollHup) == 0
	})
	return !up
}

// unread returns how many bytes of a pipe, of which f is either end, nobody has
// read yet.
func unread(f *os.File) int {
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
