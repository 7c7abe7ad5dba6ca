package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func SysctlValue(name string) string { return ProcLine(filepath.Join("/proc/sys", name)) }

func ProcLine(file string) string {
	b, err := ReadProc(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// readProc is os.ReadFile without what the runtime does for a file that may be waited
// for, which in a new process costs as much as the kernel's part.
func ReadProc(file string) ([]byte, error) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: file, Err: err}
		case n == 0:
			return b, nil
		default:
			b = slices.Grow(b[:len(b)+n], 1)
		}
	}
}
