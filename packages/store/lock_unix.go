//go:build unix

package store

import (
	"os"
	"syscall"
)

const (
	shared    = syscall.LOCK_SH
	exclusive = syscall.LOCK_EX
)

// lockFile locks an open file (flock(2)), and fails at once if another process holds a lock
// that excludes this one.
func lockFile(f *os.File, how int) error {
	return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
}
