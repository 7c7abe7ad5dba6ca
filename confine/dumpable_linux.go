package confine

import "golang.org/x/sys/unix"

// Undumpable keeps the user's other processes from reading the memory and the
// environment of the calling one (PR_SET_DUMPABLE in prctl(2)). A program that
// holds the secrets of its servers calls it once the first of them has started.
func Undumpable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// dumpableForMaps lets a child's id maps be written: the files below /proc of an
// undumpable process, which a fork inherits, belong to root. It returns what
// hides the process again, if it was hidden.
func dumpableForMaps() (restore func()) {
	if v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || v != 0 {
		return func() {}
	}
	unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	return func() { Undumpable() }
}
