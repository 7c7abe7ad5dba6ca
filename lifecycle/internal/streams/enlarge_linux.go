package streams

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe, of which the server gets one end: an open file in blocking mode, which programs expect of
// their standard descriptors. The runtime's poller does not get it.
func pipe(serverReads bool) (r, w *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	theirs := fds[1]
	if serverReads {
		theirs = fds[0]
	}
	unix.FcntlInt(uintptr(theirs), unix.F_SETFL, 0)
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

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
