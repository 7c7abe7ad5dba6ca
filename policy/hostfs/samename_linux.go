package hostfs

import (
	"os"
	"strconv"
	"syscall"
)

// sameName tells whether two paths that lead to one object are one name to the kernel, by
// how it spells them while both are held.
func sameName(a, b string) bool {
	const oPath = 0x200000
	var spelled [2]string
	for i, name := range []string{a, b} {
		fd, err := syscall.Open(name, oPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer syscall.Close(fd)
		spelled[i] = strconv.Itoa(fd)
	}
	for i := range spelled {
		target, err := os.Readlink("/proc/self/fd/" + spelled[i])
		if err != nil {
			return false
		}
		spelled[i] = target
	}
	return spelled[0] == spelled[1]
}
