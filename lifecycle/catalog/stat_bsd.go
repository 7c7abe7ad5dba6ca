//go:build darwin || freebsd

package catalog

import (
	"os"
	"syscall"
)

// stamp returns the numbers that change when a file does. No program can set the time of
// the last inode change.
func stamp(fi os.FileInfo) ([]int64, bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, false
	}
	return []int64{int64(st.Mode), st.Size, int64(st.Dev), int64(st.Ino), st.Mtimespec.Nano(), st.Ctimespec.Nano()}, true
}
