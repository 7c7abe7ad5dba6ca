//go:build unix

package updates

import "syscall"

const nonblock = syscall.O_NONBLOCK
