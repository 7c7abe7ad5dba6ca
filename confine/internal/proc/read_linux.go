package proc

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Sysctl returns the value of a sysctl, given as a path below /proc/sys, or "".
func Sysctl(name string) string { return ReadLine(filepath.Join("/proc/sys", name)) }

// ReadLine returns the text of a file without the line's end, or "".
func ReadLine(file string) string {
	b, err := ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// ReadFile is os.ReadFile without the runtime's poller. In a new process it costs as much to set
// the poller up as to read the file.
func ReadFile(file string) ([]byte, error) {
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

// Mounts returns the mounts that a process sees (proc_pid_mountinfo(5)), or nil.
func Mounts(pid int) []byte {
	b, err := ReadFile("/proc/" + strconv.Itoa(pid) + "/mountinfo")
	if err != nil {
		return nil
	}
	return b
}

// ReadDirNames returns the names in a directory, or those read before an error.
func ReadDirNames(dir string) (names []string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	for {
		n, err := unix.ReadDirent(fd, b)
		if err != nil || n <= 0 {
			return names
		}
		_, _, names = unix.ParseDirent(b[:n], -1, names)
	}
}

// ParseNumbers calls f for each line "name: number", as in /proc/meminfo or a process's
// status. It skips other lines.
func ParseNumbers(b []byte, f func(name string, n int64)) {
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(fields[0], 10, 64); err == nil {
			f(name, n)
		}
	}
}

// TotalSwap returns the bytes of swap that the host has, and whether that is known.
func TotalSwap(proc string) (total int64, known bool) {
	b, err := os.ReadFile(path.Join(proc, "meminfo"))
	if err != nil {
		return 0, false
	}
	ParseNumbers(b, func(name string, n int64) {
		if name == "SwapTotal" {
			total, known = n<<10, true
		}
	})
	return total, known
}

// SharedMemory returns the bytes of shared memory of the whole host, and of all pages that are
// swapped out, because some of these may be shared memory.
func SharedMemory(proc string) (now int64, err error) {
	b, err := os.ReadFile(path.Join(proc, "meminfo"))
	ParseNumbers(b, func(name string, n int64) {
		switch name {
		case "Shmem", "SwapTotal": // Shmem does not count pages that are swapped out
			now += n << 10
		case "SwapFree":
			now -= n << 10
		}
	})
	return now, err
}
