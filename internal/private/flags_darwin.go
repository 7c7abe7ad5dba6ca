package private

import (
	"os"

	"golang.org/x/sys/unix"
)

// keeping are the flags with which an owner keeps a file from being removed.
const keeping = unix.UF_IMMUTABLE | unix.UF_APPEND

// ClearFlags takes the flags of a file or directory below root away that keep its owner from removing
// it, and reports whether there were any. It follows no link out of root, and leaves what
// the owner may not read as it is.
func ClearFlags(root *os.Root, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Flags&keeping == 0 {
		return false
	}
	return unix.Fchflags(int(f.Fd()), int(st.Flags&^keeping)) == nil
}
