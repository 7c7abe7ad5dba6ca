//go:build unix

package records

import "syscall"

const nonblock = syscall.O_NONBLOCK
