package confine

import (
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// unmapped counts shared memory that does not show among what a process maps: a
// memfd that was only written to, a SysV segment that is attached nowhere. Looking
// for it means to look at every open file of the jail, so it is done only while the
// host's shared memory as a whole has grown, which it must have.
//
// Not found are a memfd that is nowhere open any more, because it is under way
// through a socket or still mapped without having been touched, and files that a
// process hides by having made itself undumpable.
type unmapped struct {
	floor int64 // the least that the host had
	known bool
	last  int64
	held  map[string]int64
	next  time.Time
}

// grown tells whether the shared memory of the host is more than some over what
// it has been.
func (u *unmapped) grown(proc string, some int64) bool {
	b, err := os.ReadFile(path.Join(proc, "meminfo"))
	if err != nil {
		return true // then it is looked for
	}
	var now int64
	eachNumber(b, func(name string, n int64) {
		switch name {
		case "Shmem", "SwapTotal": // what was swapped out has left Shmem
			now += n << 10
		case "SwapFree":
			now -= n << 10
		}
	})
	if !u.known || now < u.floor {
		u.floor, u.known = now, true
	}
	return now-u.floor > some
}

// count returns the bytes of all such memory, and of memfds those that each
// process holds open. Where it takes long it is done less often.
func (u *unmapped) count(proc string, pids []string) (total int64, held map[string]int64) {
	begun := time.Now()
	if begun.Before(u.next) {
		return u.last, u.held
	}
	u.last, u.held = sysvSegments(proc), make(map[string]int64)
	seen := make(map[uint64]bool)
	for _, pid := range pids {
		dir := path.Join(proc, pid, "fd")
		for _, name := range namesIn(dir) {
			fd := path.Join(dir, name)
			if target, err := os.Readlink(fd); err != nil || !strings.HasPrefix(target, "/memfd:") {
				continue
			}
			var st unix.Stat_t
			if unix.Stat(fd, &st) != nil {
				continue
			}
			u.held[pid] += st.Blocks * 512
			if !seen[st.Ino] {
				seen[st.Ino] = true
				u.last += st.Blocks * 512
			}
		}
	}
	u.next = time.Now().Add(shareOfTime * time.Since(begun))
	return u.last, u.held
}

func namesIn(dir string) (names []string) {
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

// sysvSegments is what the SysV segments of this IPC namespace take: the last two
// columns of proc(5) sysvipc/shm, in bytes.
func sysvSegments(proc string) (total int64) {
	b, err := os.ReadFile(path.Join(proc, "sysvipc/shm"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 16 {
			continue
		}
		for _, column := range f[14:16] {
			n, _ := strconv.ParseInt(column, 10, 64)
			total += n
		}
	}
	return total
}
