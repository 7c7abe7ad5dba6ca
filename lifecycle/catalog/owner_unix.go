//go:build unix

package catalog

import (
	"os"
	"syscall"
)

// owned tells whether a file is the user's own. Root's is not: whoever runs as
// root once must not decide what the user's sessions say.
func owned(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// openFlags keep what was put in a file's place from blocking the open.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
