package step

import (
	"errors"
	"syscall"
)

func ErrnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

const StepNamespaces = "namespaces"
