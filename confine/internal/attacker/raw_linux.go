package attacker

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// rawOpen opens and closes a file without Go's scheduler, which would start another thread while the call
// takes.
func rawOpen(name string, flags uintptr) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, atFdcwd, uintptr(unsafe.Pointer(p)), flags|unix.O_CLOEXEC, 0o644, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

const atFdcwd = ^uintptr(-unix.AT_FDCWD - 1)
