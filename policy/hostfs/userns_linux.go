package hostfs

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// isUnmapped reports whether uid is the number that the kernel shows for all users unknown
// to this user namespace, and the root of the host is one of them.
func isUnmapped(uid int) bool { return uid > 0 && uid == kernelUser() && uid == overflowUser() }

// kernelUser returns the number that this user namespace shows for the host's root: the owner of
// the inode that the kernel made for all epoll descriptors. A uid_map does not say it, because a
// namespace inside another one maps the root of that one, and a sandbox may bring no /proc.
var kernelUser = sync.OnceValue(func() int {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return -1
	}
	return int(st.Uid)
})

// overflowUser returns the number that the kernel shows for users unknown to a user namespace.
func overflowUser() int {
	b, _ := ReadFile("/proc/sys/kernel/overflowuid")
	if uid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
		return uid
	}
	return 65534 // unless it was changed
}

// isMapped reports whether this user namespace has a user of that number.
func isMapped(uid int) bool {
	b, _ := ReadFile("/proc/self/uid_map")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 {
			first, _ := strconv.Atoi(f[0])
			count, _ := strconv.Atoi(f[2])
			if uid >= first && uid-first < count {
				return true
			}
		}
	}
	return false
}
