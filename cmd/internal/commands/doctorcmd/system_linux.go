package doctorcmd

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
