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

func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
