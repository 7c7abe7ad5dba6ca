package mediate

import (
	"path"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// inode identifies an object as stat(2) reports it.
type inode struct{ dev, ino uint64 }

func foldedObjects(names []policy.FoldedName) map[inode]string {
	m := make(map[inode]string, len(names))
	for _, f := range names {
		if f.ID.Ino != 0 {
			m[inode{f.ID.Dev, f.ID.Ino}] = f.Path
		}
	}
	return m
}

// canonicalPath returns a path in the spelling of the profile, whichever spelling the caller
// used. It takes the spelling of the object itself, else of its nearest ancestor that the
// profile names. fd is the object, or -1 to look it up.
func (j *judge) canonicalPath(full string, fd int) string {
	if len(j.profile.Folded) == 0 {
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
		if known, ok := j.objects[inode{st.Dev, st.Ino}]; ok && err == nil {
			return known + full[len(p):]
		}
	}
	return j.profile.CanonicalSpelling(full)
}

// pathAt returns the full path of a reference in the spelling of the profile.
func (j *judge) pathAt(at *pathRef) (string, syscall.Errno) {
	full, errno := at.full()
	if errno != 0 {
		return "", errno
	}
	return j.canonicalPath(full, -1), 0
}

// pathOfFD returns the path of an open object in the spelling of the profile.
func (j *judge) pathOfFD(fd int) (string, syscall.Errno) {
	full, errno := pathOf(fd)
	if errno != 0 {
		return "", errno
	}
	return j.canonicalPath(full, fd), 0
}
