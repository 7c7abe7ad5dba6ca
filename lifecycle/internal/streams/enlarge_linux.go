package streams

import (
	"os"

	"golang.org/x/sys/unix"
)

// Enlarge enlarges a pipe, so that a large message crosses it in fewer turns than one for
// every 64 KiB. It fails silently when the user's pipes have reached the limit, and for another file.
func Enlarge(f *os.File, size int) {
	control(f, func(fd uintptr) {
		if now, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0); err == nil && now < size {
			unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size)
		}
	})
}

// resize gives a pipe a size, unless it holds more at the moment, or Enlarge would fail.
func resize(f *os.File, size int) {
	control(f, func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
}

func control(f *os.File, do func(fd uintptr)) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(do)
	}
}
