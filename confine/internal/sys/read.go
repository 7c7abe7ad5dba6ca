//go:build darwin || linux

package sys

import (
	"io"
	"syscall"
)

// ReadFull reads exactly len(b) bytes. The end before that is io.EOF. It bypasses the runtime's poller,
// because another thread may read the bytes that follow.
func ReadFull(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		default:
			b = b[n:]
		}
	}
	return nil
}
