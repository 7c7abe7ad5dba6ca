package oom

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/proc"
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
	Floor int64 // the least that the host had
	Known bool
	last  int64
	held  map[string]int64
	found *memfdSearch // the latest that came to its end
	next  time.Time

	search *memfdSearch // one that is not at its end
}

// grown tells whether the shared memory of the host is more than some over what
// it has been.
func (u *unmapped) grown(proc string, some int64) bool {
	now, err := procpkg.SharedMemory(proc)
	if err != nil {
		return true // then it is looked for
	}
	if !u.Known || now < u.Floor {
		u.Floor, u.Known = now, true
	}
	return now-u.Floor > some
}

// count returns the bytes of all such memory, and of memfds those that each
// process holds open. Where it takes long it is done less often, and never for long
// at once: meanwhile nobody watches the rest.
func (u *unmapped) count(proc string, pids []string) (total int64, held map[string]int64) {
	begun := time.Now()
	if !begun.Before(u.next) {
		if u.search == nil {
			u.search = newMemfdSearch(proc, pids)
		}
		if u.search.goOn(proc, begun.Add(searchAtOnce)) {
			u.last, u.held, u.found, u.search = u.search.total, u.search.held, u.search, nil
		}
		u.next = time.Now().Add(ShareOfTime * time.Since(begun))
	}
	total, held = u.last, u.held
	if u.search != nil && u.search.total > total {
		total, held = u.search.total, u.search.held
	}
	return total + sysvSegments(proc), held
}

// ended takes what a process held alone out of the count. It was ended for its memory, and
// until the next look nobody else must be ended for it.
func (u *unmapped) ended(pid string) {
	if u.found == nil || u.found.by[pid] == nil {
		return
	}
	inodes := u.found.by[pid]
	delete(u.found.by, pid)
	for ino := range inodes {
		shared := false
		for _, others := range u.found.by {
			shared = shared || others[ino]
		}
		if !shared {
			u.last -= u.found.size[ino]
		}
	}
	delete(u.held, pid)
	u.next, u.search = time.Time{}, nil
}

// searchAtOnce is for how long open files are looked at in one sample.
const searchAtOnce = 20 * time.Millisecond

// memfdSearch is one look at all open files of the jail.
type memfdSearch struct {
	pids  []string // still to be looked at
	pid   string
	dirs  []string // of its threads: each may have descriptors of its own
	dir   string
	names []string         // of descriptors in it
	size  map[uint64]int64 // of those that were seen
	by    map[string]map[uint64]bool
	total int64
	held  map[string]int64
}

func newMemfdSearch(proc string, pids []string) *memfdSearch {
	return &memfdSearch{pids: slices.Clone(pids), size: make(map[uint64]int64), by: make(map[string]map[uint64]bool), held: make(map[string]int64)}
}

// goOn looks until a moment has passed, and tells whether nothing is left.
func (m *memfdSearch) goOn(proc string, until time.Time) (done bool) {
	for n := 1; ; n++ {
		switch {
		case len(m.names) > 0:
			m.look(path.Join(m.dir, m.names[0]))
			m.names = m.names[1:]
			if n%64 != 0 {
				continue
			}
		case len(m.dirs) > 0:
			m.dir, m.dirs = m.dirs[0], m.dirs[1:]
			m.names = procpkg.ReadDirNames(m.dir)
		case len(m.pids) > 0:
			m.pid, m.pids = m.pids[0], m.pids[1:]
			for _, tid := range procpkg.ReadDirNames(path.Join(proc, m.pid, "task")) {
				m.dirs = append(m.dirs, path.Join(proc, m.pid, "task", tid, "fd"))
			}
		default:
			return true
		}
		if time.Now().After(until) {
			return false
		}
	}
}

// look counts what a descriptor leads to, once for all and once for its process.
func (m *memfdSearch) look(fd string) {
	if target, err := os.Readlink(fd); err != nil || !strings.HasPrefix(target, "/memfd:") {
		return
	}
	var st unix.Stat_t
	if unix.Stat(fd, &st) != nil {
		return
	}
	if _, seen := m.size[st.Ino]; !seen {
		m.size[st.Ino] = st.Blocks * 512
		m.total += st.Blocks * 512
	}
	if m.by[m.pid] == nil {
		m.by[m.pid] = make(map[uint64]bool)
	}
	if !m.by[m.pid][st.Ino] {
		m.by[m.pid][st.Ino] = true
		m.held[m.pid] += st.Blocks * 512
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
