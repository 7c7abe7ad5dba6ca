//go:build linux || darwin || freebsd

package session

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPeek bounds the bytes of the client's first message that are looked at.
const maxPeek = 64 << 10

// peekInput returns what can be read from a socket, or on Linux from a pipe, and leaves it there. It
// does not wait. For other files it returns nil.
func peekInput(in io.Reader) []byte {
	f, ok := in.(*os.File)
	if !ok {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	b, n := make([]byte, maxPeek), 0
	raw.Control(func(fd uintptr) {
		if n, _, err = unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT); err == unix.ENOTSOCK {
			n = peekPipe(int(fd), b)
		}
	})
	return b[:max(n, 0)]
}
