//go:build darwin || freebsd

package session

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPeek bounds the bytes of the client's first message that are looked at.
const maxPeek = 64 << 10

// peekInput returns what can be read from a socket, and leaves it there. It does not wait. For other
// files, also for pipes, it returns nil: the system cannot show their content without taking it.
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
	raw.Control(func(fd uintptr) { n, _, _ = unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT) })
	return b[:max(n, 0)]
}
