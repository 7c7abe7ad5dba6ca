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

// What is opened by name may be a fifo or a terminal by then: readFlags keep it from
// being waited for, and from becoming the terminal of this process. dirFlags open
// directories and nothing else, openFlags no symbolic link.
const (
	readFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
	dirFlags  = readFlags | syscall.O_DIRECTORY
	openFlags = readFlags | syscall.O_NOFOLLOW
)
