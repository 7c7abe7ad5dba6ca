package confine

import (
	"golang.org/x/sys/unix"
)

// Undumpable keeps the user's other processes from reading the memory and the
// environment of the calling one (PR_SET_DUMPABLE in prctl(2)). A program that
// holds the secrets of its servers calls it once the first of them has started.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
