package lifecycle

import (
	"os"
	"syscall"
)

const (
	setPipeSize = 1031 // F_SETPIPE_SZ
	// pipeSize is four times the usual. More would be faster still, but the
	// kernel allows an ordinary user 64 MiB in all of their pipes (pipe(7),
	// pipe-user-pages-soft), and those of thirty servers shall not use that up.
	pipeSize = 256 << 10
)

// enlarge gives a pipe room for a large message, which then crosses in a few turns
// instead of one for every 64 KiB. A user who has used up the allowance for all
// pipes keeps the usual size.
func enlarge(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	c.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) })
}
