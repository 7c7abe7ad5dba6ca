//go:build unix

package policy

import (
	"os"
	"syscall"
)

// ownedByUser tells whether a file belongs to the user or to root.
func ownedByUser(fi os.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Getuid())
}

// writableByOthers tells whether group or world may write.
func writableByOthers(fi os.FileInfo) bool { return fi.Mode().Perm()&0o022 != 0 }

// openFlags keep a fifo from blocking the open, and a terminal from becoming that of
// this process; dirFlags open directories and nothing else.
const (
	openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	dirFlags  = openFlags | syscall.O_DIRECTORY | syscall.O_NOFOLLOW
)
