package oom

import (
	"cmp"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// memoryWatch samples what the processes of a jail use together: their memory,
// also what of it was swapped out or went into page tables, the files of the
// jail's own filesystems, and memory that nobody maps (see unmapped).
type MemoryWatch struct {
	Proc    string                   // a /proc that shows the jail's processes
	Members func() ([]string, error) // their numbers
	Limit   int64
	Tmpfs   []string // the jail's own filesystems
	Hidden  unmapped
	Excess  excess

	Full    string // one of tmpfs that had no room left at the last sample, or ""
	used    int64  // at the last sample
	Threads int    // at the last sample, of all processes together
	at      time.Time
	Took    time.Duration
	rate    float64 // growth up to the last sample, in bytes a second
}

// usage is the memory of one process, or of several.
type usage struct {
	Total, shmem int64
	tables       int64 // page tables, part of total
	threads      int
}

// member is one process of the jail.
type Member struct {
	Pid string
	usage
	held int64 // of memfds that it has open
}

// sample reports which processes to end while all of them together are over the
// limit. The cheap count, which counts what is shared once for everyone and so is
// never too low, decides only that it is time for the exact one.
func (w *MemoryWatch) Sample() (end []Member, err error) {
	begun := time.Now()
	defer func() { w.Took = time.Since(begun) }()
	members, err := w.look()
	if err != nil {
		return nil, err
	}
	for pid := range w.Excess.ended {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.Pid == pid }) {
			w.Hidden.ended(pid)
		}
	}
	shared := w.Files()
	if w.Hidden.grown(w.Proc, w.Limit/16) {
		more, held := w.Hidden.count(w.Proc, numbersOf(members))
		shared += more
		for i := range members {
			members[i].held = held[members[i].Pid]
		}
	}
	all := sum(members)
	w.Threads = all.threads
	w.note(all.Total+shared, begun)
	if w.used > w.Limit {
		w.used = w.exact(members, shared)
	}
	return w.Excess.choose(members, w.used, w.Limit), nil
}

// lookAgain is how often the processes are listed in one sample at most.
const lookAgain = 3

// look finds the processes and counts them cheaply. Where some have ended before it
// came to them, others may have taken their place: those are in the next list.
func (w *MemoryWatch) look() (members []Member, err error) {
	seen := map[string]usage{}
	for range lookAgain {
		pids, err := w.Members()
		if err != nil {
			return nil, err
		}
		members = members[:0]
		ended := false
		for _, pid := range pids {
			u, known := seen[pid]
			if !known {
				u = w.Resident(pid)
				seen[pid] = u
				ended = ended || u.Total == 0
			}
			members = append(members, Member{Pid: pid, usage: u})
		}
		if !ended {
			break
		}
	}
	return members, nil
}

// exact puts the exact count in the place of the cheap one, the largest processes
// first, until it is known that all together are below the limit.
func (w *MemoryWatch) exact(members []Member, shared int64) (used int64) {
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(b.Total, a.Total) })
	all := sum(members)
	for i := range members {
		if used = all.with(shared); used <= w.Limit {
			return used
		}
		m := &members[i]
		all.Total, all.shmem = all.Total-m.Total, all.shmem-m.shmem
		m.usage = w.Proportional(m.Pid, m.usage)
		all.Total, all.shmem = all.Total+m.Total, all.shmem+m.shmem
	}
	return all.with(shared)
}

// with adds what is shared: what is mapped of a shared file is in both numbers.
func (u usage) with(shared int64) int64 { return u.Total - u.shmem + max(u.shmem, shared) }

// note keeps the use and how fast it grew.
func (w *MemoryWatch) note(used int64, now time.Time) {
	if passed := now.Sub(w.at).Seconds(); !w.at.IsZero() && passed > 0 {
		w.rate = max(0, float64(used-w.used)/passed)
	}
	w.used, w.at = used, now
}

// How fast memory is expected to grow at the least, and the bounds of the pause.
const (
	expectedGrowth        = 4 << 30 // bytes a second, about what one thread can touch
	ShortPause, longPause = 10 * time.Millisecond, time.Second
	ShareOfTime           = 10 // a sample may take one part of so many of the time
)

// pause is how long the jail may be left alone: half of the time in which it
// could be at its limit, if it grew as fast as it just did or as one thread can. A
// sample that took long, which the server can bring about, is no reason to look away,
// least of all from a jail that was just over its limit.
func (w *MemoryWatch) Pause() time.Duration {
	if w.Excess.strain > 0 {
		return ShortPause
	}
	room := max(0, float64(w.Limit-w.used))
	d := time.Duration(room / max(2*w.rate, expectedGrowth) * float64(time.Second))
	return min(max(d, ShortPause, ShareOfTime*w.Took), longPause)
}

// inodeSize is about what the kernel keeps for a file besides its content.
const InodeSize = 1 << 10

// files is what the files of the jail's own filesystems take.
func (w *MemoryWatch) Files() (total int64) {
	w.Full = ""
	for _, dir := range w.Tmpfs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			continue
		}
		total += int64(st.Blocks-st.Bfree)*int64(st.Bsize) + int64(st.Files-st.Ffree)*InodeSize
		if st.Blocks > 0 && st.Bavail == 0 || st.Files > 0 && st.Ffree == 0 {
			w.Full = dir
		}
	}
	return total
}

func sum(members []Member) (all usage) {
	for _, m := range members {
		all.Total += m.Total
		all.shmem += m.shmem
		all.threads += m.threads
	}
	return all
}

func numbersOf(members []Member) []string {
	pids := make([]string, len(members))
	for i, m := range members {
		pids[i] = m.Pid
	}
	return pids
}

// resident is what proc(5) status tells of a process; everybody may read it.
func (w *MemoryWatch) Resident(pid string) usage {
	u, known := w.status(pid)
	if known || u.threads < 2 {
		return u
	}
	_, of := w.survivor(pid)
	of.threads = u.threads
	return of
}

// survivor finds a thread that still has the memory of its process. When the first one
// ends before the others, /proc shows nothing more of them in the place of the process.
func (w *MemoryWatch) survivor(pid string) (name string, u usage) {
	for _, tid := range proc.ReadDirNames(path.Join(w.Proc, pid, "task")) {
		name = path.Join(pid, "task", tid)
		if u, known := w.status(name); known {
			return name, u
		}
	}
	return pid, usage{}
}

// status reads one proc(5) status. known tells whether it speaks of memory.
func (w *MemoryWatch) status(name string) (u usage, known bool) {
	b, err := os.ReadFile(path.Join(w.Proc, name, "status"))
	if err != nil {
		return usage{}, false
	}
	u.threads = 1
	proc.ParseNumbers(b, func(name string, n int64) {
		known = known || name == "VmRSS"
		switch name {
		case "VmPTE":
			u.tables = n << 10
			u.Total += n << 10
		case "VmRSS", "VmSwap":
			u.Total += n << 10
		case "RssShmem":
			u.shmem = n << 10
		case "Threads":
			u.threads = max(1, int(n))
		}
	})
	return u, known
}

// proportional is Pss of proc(5) smaps_rollup, with swap and the tables of u, which
// is what resident said. A process that made itself undumpable counts in full.
func (w *MemoryWatch) Proportional(pid string, u usage) usage {
	b, err := os.ReadFile(path.Join(w.Proc, pid, "smaps_rollup"))
	if err != nil && u.threads > 1 {
		name, _ := w.survivor(pid)
		b, err = os.ReadFile(path.Join(w.Proc, name, "smaps_rollup"))
	}
	if err != nil {
		return w.Resident(pid) // it may have ended meanwhile
	}
	u.Total, u.shmem = u.tables, 0
	proc.ParseNumbers(b, func(name string, n int64) {
		switch name {
		case "Pss", "SwapPss":
			u.Total += n << 10
		case "Pss_Shmem":
			u.shmem = n << 10
		}
	})
	return u
}

// program is the name of a process.
func (w *MemoryWatch) Program(pid string) string {
	name, _ := os.ReadFile(path.Join(w.Proc, pid, "comm"))
	return strings.TrimSpace(string(name))
}
