package proc

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// sharedMemory is what the host has of it, in bytes.
func SharedMemory(proc string) (now int64, err error) {
	b, err := os.ReadFile(path.Join(proc, "meminfo"))
	EachNumber(b, func(name string, n int64) {
		switch name {
		case "Shmem", "SwapTotal": // what was swapped out has left Shmem
			now += n << 10
		case "SwapFree":
			now -= n << 10
		}
	})
	return now, err
}

func NamesIn(dir string) (names []string) {
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
