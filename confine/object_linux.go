package confine

import (
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/policy"
)

// objectID says which object of the host a descriptor stands for, in the terms
// of policy.FileID (statx(2)).
func objectID(t *stub.Task, fd int) (policy.FileID, error) {
	if t.Recording() {
		return policy.FileID{}, nil
	}
	var st unix.Statx_t
	err := t.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil {
		return policy.FileID{}, err
	}
	id := policy.FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id, nil
}
