package rootfs

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// identify has look told which object of the host a descriptor stands for, in the terms
// of policy.FileID (statx(2)).
func Identify(t *stub.Task, fd int, look func(policy.FileID) error) error {
	st := new(unix.Statx_t)
	if err := t.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, st); err != nil {
		return err
	}
	return t.OnComplete(func() error {
		id := policy.FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
		if st.Mask&unix.STATX_BTIME != 0 {
			id.Birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
		}
		return look(id)
	})
}
