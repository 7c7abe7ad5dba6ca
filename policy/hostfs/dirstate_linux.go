package hostfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// settled is how long ago a directory must have changed for its state to count. The kernel's clock for
// these times may stand still for 10 ms: two changes within them can give one time.
const settled = time.Second

// dirState implements Host.DirState. A later change is certain to show on local filesystems of Linux: no
// user can set the time of change, and the kernel sets it with each name. (A file is not like
// that: its contents can change through a mapping, and the time later.)
func dirState(path string, certain bool) (s DirState, ok bool) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s, false
	}
	s = DirState{fileID(&st), st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec)}
	return s, !certain || isCertain(path, s)
}

func isCertain(path string, s DirState) bool {
	if age := time.Now().UnixNano() - s.Changed; age < int64(settled) {
		return false
	}
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	switch fs.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
