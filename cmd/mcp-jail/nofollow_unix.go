//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow makes open fail if the last component is a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// duplicate returns a copy of a descriptor that the client has given. It does not open it anew: a socket cannot be.
func duplicate(file string, n int) (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	var is unix.Stat_t
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	err = errors.Join(err, unix.Fstat(fd, &is))
	// Go itself has some that are neither, such as that of its poller.
	isFile := slices.Contains([]uint32{unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFCHR}, uint32(is.Mode)&unix.S_IFMT)
	if err != nil || !isFile || mode&unix.O_ACCMODE == unix.O_RDONLY {
		unix.Close(fd)
		return nil, fmt.Errorf("%s is not open for writing", file)
	}
	if n > 2 {
		unix.CloseOnExec(n) // no other program gets it
	}
	return os.NewFile(uintptr(fd), file), nil
}

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
