package gateway

import (
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
)

// openPlain opens the file at a canonical path. A symbolic link anywhere in the path is an
// error. It opens each directory by itself, because openat2 is missing on older kernels and
// under some seccomp filters.
func openPlain(name string) (*os.File, error) {
	const way = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open("/", way, 0)
	dir, base := path.Split(path.Clean(name))
	for part := range strings.FieldsFuncSeq(dir, func(r rune) bool { return r == '/' }) {
		if err != nil {
			break
		}
		at := fd
		fd, err = unix.Openat(at, part, way, 0)
		unix.Close(at)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	file, err := unix.Openat(fd, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(file), name), nil
}

// isSelfContained reports whether a program starts where there are no libraries.
func isSelfContained(program string) bool { return kernel.IsStatic(program) == nil }
