package sys

import (
	"golang.org/x/sys/unix"
)

// readable waits, for that many milliseconds or for ever, until there is something to
// be read, or an end or an error to be seen.
func Readable(fd, timeout int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, timeout); err != unix.EINTR {
			return n > 0 || err != nil
		}
	}
}
