package session

import (
	"os"
	"syscall"
)

const (
	setPipeSize = 1031 // F_SETPIPE_SZ
	// pipeSize is four times the default. The kernel allows an ordinary user 64 MiB
	// in all pipes (pipe(7), pipe-user-pages-soft); the pipes of thirty servers should
	// not use that up.
	pipeSize = 256 << 10
)

// enlarge enlarges a pipe, so that a large message crosses it in fewer turns than one for
// every 64 KiB. It fails silently when the user's pipes have reached the limit.
func enlarge(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) })
}
