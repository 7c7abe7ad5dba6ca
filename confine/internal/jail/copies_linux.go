package jail

import (
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// WithModes returns mounts in which the copy of each file has the permissions and the time of that file. They
// are for the server to see, and decide nothing that the jail does not decide, too.
func WithModes(mounts []spec.Mount) []spec.Mount {
	own := mounts
	for i, m := range mounts {
		if m.Kind != spec.MountCopy {
			continue
		}
		if info, err := os.Lstat(m.Path); err == nil { // the start finds out by itself what is missing
			if &own[0] == &mounts[0] {
				own = slices.Clone(mounts)
			}
			own[i].Mode, own[i].Modified = uint32(info.Mode().Perm()), info.ModTime().UnixNano()
		}
	}
	return own
}

// CopyError says why a file could not be copied.
func CopyError(errno syscall.Errno) string {
	switch errno {
	case syscall.EFBIG:
		return "it has more than " + strconv.Itoa(spec.MaxCopy>>20) + " MB"
	case syscall.ENOSPC:
		return "there is no room for it in what memory_mb leaves for copies"
	case syscall.EACCES, syscall.EROFS, syscall.EPERM:
		return "you may not read and write it yourself"
	}
	return errno.Error()
}
