package hostfs

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// sameName reports whether the kernel treats two paths of one object as one name. It opens
// both, then compares how /proc/self/fd spells them.
func sameName(a, b string) bool {
	var spelled [2]string
	for i, name := range []string{a, b} {
		fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
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
