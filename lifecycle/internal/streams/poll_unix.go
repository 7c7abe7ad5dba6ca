//go:build linux || darwin || freebsd

package streams

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// poll asks the kernel what f is ready for, and waits at most so long. ok is false if the kernel does
// not say. On macOS poll(2) answers POLLNVAL for a device such as a terminal.
func poll(f *os.File, events int16, most time.Duration) (ready int16, ok bool) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, false
	}
	raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(p, int(most.Milliseconds()))
		ready, ok = p[0].Revents, err == nil && n > 0 && p[0].Revents&unix.POLLNVAL == 0
	})
	return ready, ok
}

// PeerClosed reports whether every descriptor of the other end of f is closed. poll(2)
// sees that even while unread data remains, which a read cannot.
func PeerClosed(f *os.File) bool {
	ready, ok := poll(f, closedEvents(f), 0)
	return ok && ready&(unix.POLLERR|unix.POLLHUP) != 0
}

// closedEvents returns the events to ask for besides an end. Linux tells of an end without any. macOS
// watches the direction of the events only: a pipe must be asked about reads, also if f is the end that
// writes, and a socket about writes, because reads end already when the peer shuts down its output.
func closedEvents(f *os.File) int16 {
	if isSocket(f) {
		return unix.POLLOUT
	}
	return unix.POLLIN
}

// Readable reports whether f has something to read, or its other end is closed.
func Readable(f *os.File) bool {
	ready, ok := poll(f, unix.POLLIN, 0)
	return ok && ready != 0
}

// waitReady waits until f can be read or written, or a second has passed. The caller tries
// again.
func waitReady(f *os.File, write bool) {
	events := int16(unix.POLLIN)
	if write {
		events = unix.POLLOUT
	}
	began := time.Now()
	if _, ok := poll(f, events, time.Second); !ok && time.Since(began) < time.Millisecond {
		time.Sleep(10 * time.Millisecond) // poll does not work for f
	}
}

// UnreadBytes returns how many bytes of a pipe have not been read yet. On Linux f is either end. On
// other systems the end that writes gives 0, so that everything counts as read.
func UnreadBytes(f *os.File) int {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	request := uint(0x4004667f) // FIONREAD
	if runtime.GOOS == "linux" {
		request = 0x541b
	}
	n := 0
	raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), request) })
	if err != nil {
		return 0
	}
	return n
}
