package step

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func AsErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return unix.EIO
}
