package private

import (
	"errors"
	"runtime"
)

// ErrLocked is in the chain of an error about a lock that another process has.
var ErrLocked = errors.New("another process has it locked")

// A Kind is a kind of lock.
type Kind int

// Kinds of locks. Many processes can have the shared lock at the same time.
const (
	Shared Kind = iota
	Exclusive
)

// lockName is the file that has the lock of a directory on Windows, where a directory itself has none.
const lockName = ".lock"

// isLock reports whether a name in a directory is that of the file for its lock.
func isLock(name string) bool { return runtime.GOOS == "windows" && name == lockName }
