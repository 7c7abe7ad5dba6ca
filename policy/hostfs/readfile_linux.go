package hostfs

import (
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// ReadFile is os.ReadFile without the runtime's poller, which takes five more system calls to refuse a file.
func ReadFile(file string) ([]byte, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &fs.PathError{Op: "read", Path: file, Err: err}
		case n == 0:
			return b, nil
		default:
			b = slices.Grow(b[:len(b)+n], 1)
		}
	}
}
