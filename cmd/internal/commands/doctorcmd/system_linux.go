package doctorcmd

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// fileSystemOf returns how many bytes the user may still write on the file system of a directory, or of
// the directory in which it would be made, and whether it forbids to execute.
func fileSystemOf(dir string) (free int64, noexec, ok bool) {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(dir, &s)
		switch {
		case err == nil:
			return int64(min(s.Bavail, 1<<50)) * s.Bsize, s.Flags&unix.ST_NOEXEC != 0, s.Blocks > 0
		case !os.IsNotExist(err) || dir == filepath.Dir(dir):
			return 0, false, false
		}
		dir = filepath.Dir(dir)
	}
}

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

func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
