//go:build unix

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// columns returns the width of a terminal, 0 if f is none or does not know it. It does not
// call f.Fd: see isTerminal.
func columns(f *os.File) (n int) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	err = conn.Control(func(fd uintptr) {
		if size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ); err == nil {
			n = int(size.Col)
		}
	})
	if err != nil {
		return 0
	}
	return n
}
