package commands

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// othersWrite reports whether another user than root can put a file at a path.
func othersWrite(path string) bool {
	for at := path; ; at = filepath.Dir(at) {
		var s unix.Stat_t
		if err := unix.Stat(at, &s); err == nil && (s.Uid != 0 || s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// mayWrite reports whether the user may write to a directory.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK) }

// freeBytes returns how much a user can still write to the disk of a directory, or -1 if that is not known.
func freeBytes(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * s.Bsize
}
