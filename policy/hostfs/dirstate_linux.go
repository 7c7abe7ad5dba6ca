package hostfs

import (
	"time"

	"golang.org/x/sys/unix"
)

// settled is how long ago a directory must have changed for its state to count. The times of an ext2 or ext3, which
// has the number of ext4, have no parts of a second, and the kernel's clock for them may be 10 ms late: two changes
// within that can give one time.
const settled = 2 * time.Second

// dirState implements Host.DirState. A later change is certain to show on local filesystems of Linux: no
// user can set the time of change, and the kernel sets it with each name. (A file is not like
// that: its contents can change through a mapping, and the time later.)
func dirState(path string, certain bool) (s DirState, ok bool) {
	at, flags := unix.AT_FDCWD, unix.AT_SYMLINK_NOFOLLOW
	if certain {
		// Both answers must be about one directory: a mount may come to lie on the path between the two calls.
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return s, false
		}
		defer unix.Close(fd)
		at, path, flags = fd, "", unix.AT_EMPTY_PATH
	}
	var st unix.Statx_t
	if unix.Statx(at, path, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s, false
	}
	s = DirState{
		ID: fileID(&st), Modified: st.Mtime.Sec*1e9 + int64(st.Mtime.Nsec), Changed: st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec),
		Mode: fileMode(uint32(st.Mode)), UID: int(st.Uid), GID: int(st.Gid),
	}
	if !certain {
		return s, true
	}
	var fs unix.Statfs_t
	return s, unix.Fstatfs(at, &fs) == nil && isCertain(&st, int64(fs.Type), time.Now())
}

// isCertain reports whether each later change of a directory shows in its state. In an encrypted directory each
// name changes when the user gives the kernel its key, or takes it away, and no time does.
func isCertain(st *unix.Statx_t, filesystem int64, now time.Time) bool {
	if now.Sub(time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec))) < settled || st.Attributes&unix.STATX_ATTR_ENCRYPTED != 0 {
		return false
	}
	switch filesystem {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC:
		return true
	}
	return false
}
