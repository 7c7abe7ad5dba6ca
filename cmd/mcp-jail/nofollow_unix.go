//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes open fail if the last component is a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// writeNow writes a line whole, or nothing if the reader leaves no room. A pipe that poll finds ready has room for 4 KiB,
// and a socket for more. O_NONBLOCK would also change the file for the program that has it open, too.
func writeNow(f *os.File, line []byte) bool {
	fd := f.Fd() // from now on it is in blocking mode
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if n, err := unix.Poll(ready, 0); n != 1 || err != nil || ready[0].Revents&unix.POLLOUT == 0 {
		return false
	}
	_, err := f.Write(line)
	return err == nil
}
