package session

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxPeek bounds the bytes of the client's first message that are looked at.
const maxPeek = 64 << 10

// peekInput returns what can be read from a pipe or a socket, and leaves it there. It does not
// wait. For other files it returns nil.
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

// peekPipe copies the content of a pipe without taking it (tee(2)), and returns the number of
// bytes.
func peekPipe(fd int, b []byte) int {
	var own [2]int
	if unix.Pipe2(own[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		return 0
	}
	defer unix.Close(own[0])
	defer unix.Close(own[1])
	n, err := unix.Tee(fd, own[1], len(b), unix.SPLICE_F_NONBLOCK)
	if err != nil || n <= 0 {
		return 0
	}
	got, err := unix.Read(own[0], b)
	if err != nil {
		return 0
	}
	return got
}
