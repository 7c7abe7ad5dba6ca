package supervisor

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// unmappedShm counts the memory of memfds, and says when to count SysV segments. The count of a process lacks a
// memfd that was only written to, and a SysV segment that is not attached. Mapped pages are in both
// counts (see usage.with). To find memfds unmappedShm must look at every open file of the jail.
// It does so while the host's shared memory as a whole has grown, and once a second: what other programs give
// back meanwhile can hide what the jail takes.
type unmappedShm struct {
	floor int64     // the least that the host had
	known bool      // floor is set
	last  int64     // the result of the latest complete search
	asked time.Time // when grew reported true, or was first called
	next  time.Time

	search *memfdSearch // an incomplete one, or nil
}

// grew reports whether the host's shared memory is more than some bytes above the least value
// that grew has seen, or that a second has passed since it reported true. before is the value before the jail, or 0.
func (u *unmappedShm) grew(proc string, before, some int64) bool {
	now, err := procpkg.SharedMemory(proc)
	if err != nil {
		return true // it may have grown
	}
	if !u.known && before > 0 {
		u.floor, u.known = before, true
	}
	if !u.known || now < u.floor {
		u.floor, u.known = now, true
	}
	if u.asked.IsZero() {
		u.asked = time.Now()
	}
	if now-u.floor <= some && time.Since(u.asked) < time.Second {
		return false
	}
	u.asked = time.Now()
	return true
}

// count returns the bytes of the jail's memfds. One call searches for
// searchTime at most, because the watcher counts nothing else meanwhile. Long searches are made
// less often.
func (u *unmappedShm) count(proc string, pids []string) (total int64) {
	begun := time.Now()
	if !begun.Before(u.next) {
		if u.search == nil {
			u.search = newMemfdSearch(proc, pids)
		}
		if u.search.continueUntil(begun.Add(searchTime)) {
			u.last, u.search = u.search.total, nil
		}
		u.next = time.Now().Add(shareOfTime * time.Since(begun))
	}
	total = u.last
	if u.search != nil {
		total = max(total, u.search.total)
	}
	return total
}

// searchTime is how long one sample looks at open files at most.
const searchTime = 20 * time.Millisecond

// memfdSearch looks at all open files of the jail, in parts.
type memfdSearch struct {
	proc  string
	pids  []string        // still to be looked at
	dirs  []string        // of a process's threads: each may have its own descriptors
	dir   string          // of the current thread
	names []string        // of descriptors in dir
	seen  map[uint64]bool // memfds, by inode
	total int64           // in bytes
}

func newMemfdSearch(proc string, pids []string) *memfdSearch {
	return &memfdSearch{proc: proc, pids: slices.Clone(pids), seen: make(map[uint64]bool)}
}

func (m *memfdSearch) continueUntil(deadline time.Time) (done bool) {
	for n := 1; ; n++ {
		switch {
		case len(m.names) > 0:
			m.add(path.Join(m.dir, m.names[0]))
			m.names = m.names[1:]
			// The clock is read once in 64 files.
			if n%64 != 0 {
				continue
			}
		case len(m.dirs) > 0:
			m.dir, m.dirs = m.dirs[0], m.dirs[1:]
			m.names = procpkg.ReadDirNames(m.dir)
		case len(m.pids) > 0:
			pid := m.pids[0]
			m.pids = m.pids[1:]
			for _, tid := range procpkg.ReadDirNames(path.Join(m.proc, pid, "task")) {
				m.dirs = append(m.dirs, path.Join(m.proc, pid, "task", tid, "fd"))
			}
		default:
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// add counts the memfd that a descriptor refers to, if it was not counted yet.
func (m *memfdSearch) add(fd string) {
	if target, err := os.Readlink(fd); err != nil || !strings.HasPrefix(target, "/memfd:") {
		return
	}
	var st unix.Stat_t
	if unix.Stat(fd, &st) == nil && !m.seen[st.Ino] {
		m.seen[st.Ino] = true
		m.total += st.Blocks * 512
	}
}

// sysvSegments returns the bytes that the SysV segments of this IPC namespace take, resident and
// swapped: the last two columns of proc_sysvipc(5) shm, in bytes.
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
