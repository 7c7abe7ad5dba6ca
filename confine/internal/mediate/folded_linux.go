package mediate

import (
	"path"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// inode is an object as stat(2) tells it.
type inode struct{ dev, ino uint64 }

// foldedObjects are the objects that are found under several spellings, with the one
// that the profile has.
func foldedObjects(names []policy.FoldedName) map[inode]string {
	m := make(map[inode]string, len(names))
	for _, f := range names {
		if f.ID.Ino != 0 {
			m[inode{f.ID.Dev, f.ID.Ino}] = f.Path
		}
	}
	return m
}

// canonicalPath is a path in the spelling that it is judged by, which is that of the object
// itself or of the nearest directory that the profile knows, whichever spelling the caller
// used. fd is the object, or -1 where it has to be looked for.
func (v *Mediator) canonicalPath(full string, fd int) string {
	if len(v.profile.Folded) == 0 {
		return full
	}
	for p := full; p != "/" && p != "."; p = path.Dir(p) {
		var st unix.Stat_t
		var err error
		if fd >= 0 {
			err = unix.Fstat(fd, &st)
			fd = -1
		} else {
			err = unix.Lstat(p, &st)
		}
		if known, ok := v.objects[inode{st.Dev, st.Ino}]; ok && err == nil {
			return known + full[len(p):]
		}
	}
	return v.profile.CanonicalSpelling(full)
}

// pathAt is the path of a place, as it is judged.
func (v *Mediator) pathAt(at *PathRef) (string, syscall.Errno) {
	full, errno := at.full()
	if errno != 0 {
		return "", errno
	}
	return v.canonicalPath(full, -1), 0
}

// pathOfFD is where of an object.
func (v *Mediator) pathOfFD(fd int) (string, syscall.Errno) {
	full, errno := pathOf(fd)
	if errno != 0 {
		return "", errno
	}
	return v.canonicalPath(full, fd), 0
}
