//go:build unix

package catalog

import (
	"os"
	"syscall"
)

// owned reports whether a file belongs to the user. Root's files do not count: a program
// that has once run as root must not decide what the user's sessions get.
func owned(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
