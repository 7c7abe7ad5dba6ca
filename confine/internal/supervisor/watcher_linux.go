package supervisor

import (
	"bufio"
	"cmp"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	procpkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// oomWatcher samples what the processes of a jail use together. The caller sets the first group
// of fields. Sample sets the second.
//
// It adds up what the jail's processes, their record locks and messages, the files of its own filesystems
// and unmapped shared memory take, and reports when that exceeds a limit. The supervisor then ends the
// whole jail, as systemd-oomd ends a cgroup. It does so only if the kernel holds no such limit by a
// cgroup.
//
// Limits: the jail can exceed its limit between two samples, see pause. Not counted are a memfd that no
// process has open (it is in a socket's queue, or mapped and untouched), and memfds of a process that
// made itself undumpable. Memory that two processes share as one address space (vfork, CLONE_VM) counts
// twice.
type oomWatcher struct {
	Proc   string                   // a proc filesystem that shows the jail's processes
	List   func() ([]string, error) // lists their numbers
	Limit  int64                    // in bytes
	Tmpfs  []string                 // the jail's own filesystems
	Shared int64                    // the host's shared memory before the jail; 0: unknown
	Locks  bool                     // record locks count
	OwnIPC bool                     // objects of System V count: they are the jail's own

	Full    string        // one of Tmpfs that has no space left, or ""
	Threads int           // of all processes together
	Took    time.Duration // by the latest sample

	shm    unmappedShm
	kernel int64 // the memory of record locks and of messages
	used   int64
	at     time.Time
	rate   float64 // growth up to the latest sample, in bytes a second
}

// usage is the memory of one process, or of several.
type usage struct {
	total, shmem int64
	tables       int64 // page tables, part of total
	threads      int
}

// process is a process of the jail and what it uses.
type process struct {
	pid string
	usage
}

// Sample counts what all processes use, and reports whether that exceeds the limit. The first
// count is cheap. It counts shared memory once for each process, so it is never too low. Only
// if it exceeds the limit, Sample counts exactly. largest is the process that uses most.
func (w *oomWatcher) Sample() (over bool, largest string, err error) {
	begun := time.Now()
	defer func() { w.Took = time.Since(begun) }()
	processes, err := w.list()
	if err != nil {
		return false, "", err
	}
	shared := w.tmpfsUsage()
	if w.shm.grew(w.Proc, w.Shared, w.Limit/16) {
		shared += w.shm.count(w.Proc, pidsOf(processes))
		if w.OwnIPC {
			shared += sysvSegments(w.Proc)
		}
	}
	w.kernel = 0
	if w.Locks {
		locks := recordLocks(w.Proc, pidsOf(processes))
		if w.kernel = int64(locks) * lockSize; locks == maxLocks {
			w.kernel = w.Limit + 1
		}
	}
	if w.OwnIPC {
		queues, bytes := messageQueues(w.Proc)
		if w.kernel += bytes; queues == maxQueues {
			w.kernel = w.Limit + 1
		}
	}
	all := sum(processes)
	all.total += w.kernel
	w.Threads = all.threads
	w.setUsed(all.total+shared, begun)
	// The cheap count is never too low, so only a count over the limit needs the exact one.
	if w.used > w.Limit {
		w.used = w.exact(processes, shared)
	}
	most := int64(0)
	for _, p := range processes {
		if p.total > most {
			largest, most = p.pid, p.total
		}
	}
	return w.used > w.Limit, largest, nil
}

// maxLists is how often one sample lists the processes at most.
const maxLists = 3

// list lists the processes and counts them cheaply. If a process ended before list counted it,
// another one may have taken its place. So list then looks again.
func (w *oomWatcher) list() (processes []process, err error) {
	counted := map[string]usage{}
	for range maxLists {
		pids, err := w.List()
		if err != nil {
			return nil, err
		}
		processes = processes[:0]
		ended := false
		for _, pid := range pids {
			u, known := counted[pid]
			if !known {
				u = w.resident(pid)
				counted[pid] = u
				ended = ended || u.total == 0
			}
			processes = append(processes, process{pid, u})
		}
		if !ended {
			break
		}
	}
	return processes, nil
}

// exact replaces the cheap counts by exact ones, the largest process first, until all
// together are known to be below the limit. An exact count walks the page tables. A server could
// fill those without using memory, and grow meanwhile, so processes with the largest ones keep
// their cheap counts.
func (w *oomWatcher) exact(processes []process, shared int64) (used int64) {
	slices.SortFunc(processes, func(a, b process) int { return cmp.Compare(b.total, a.total) })
	all := sum(processes)
	all.total += w.kernel
	tables := max(w.Limit/16, leastTables) // to walk
	for i := range processes {
		if used = all.with(shared); used <= w.Limit {
			return used
		}
		p := &processes[i]
		if tables -= p.tables; tables < 0 {
			tables += p.tables
			continue
		}
		all.total, all.shmem = all.total-p.total, all.shmem-p.shmem
		p.usage = w.proportional(p.pid, p.usage)
		all.total, all.shmem = all.total+p.total, all.shmem+p.shmem
	}
	return all.with(shared)
}

// leastTables are the page tables that exact walks under the smallest limits: a few of the
// largest programs have so much.
const leastTables = 16 << 20

// with returns the total together with shared memory. Mapped pages of shared files are in u.shmem
// and in shared, so with takes the larger of the two.
func (u usage) with(shared int64) int64 { return u.total - u.shmem + max(u.shmem, shared) }

func (w *oomWatcher) setUsed(used int64, now time.Time) {
	if passed := now.Sub(w.at).Seconds(); !w.at.IsZero() && passed > 0 {
		w.rate = max(0, float64(used-w.used)/passed)
	}
	w.used, w.at = used, now
}

const (
	// expectedGrowth is the least growth to expect, in bytes a second: about what one thread
	// can touch.
	expectedGrowth = 4 << 30
	// shortPause and longPause bound the pause between two samples.
	shortPause, longPause = 10 * time.Millisecond, time.Second
	// shareOfTime is the share of the time that samples may take: one part of so many.
	shareOfTime = 10
)

// pause returns how long to wait before the next sample: the time in which the jail reaches its
// limit if it grows twice as fast as it did, or by expectedGrowth if that is more. The server can
// make a sample take long, so a long sample lengthens the pause only up to longPause.
func (w *oomWatcher) pause() time.Duration {
	left := max(0, float64(w.Limit-w.used))
	d := time.Duration(left / max(2*w.rate, expectedGrowth) * float64(time.Second))
	return min(max(d, shortPause, shareOfTime*w.Took), longPause)
}

// inodeSize is about what the kernel keeps for a file besides its content.
const inodeSize = 1 << 10

// tmpfsUsage returns the bytes that the files of the jail's own filesystems take, and sets
// w.Full.
func (w *oomWatcher) tmpfsUsage() (total int64) {
	w.Full = ""
	for _, dir := range w.Tmpfs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) != nil {
			continue
		}
		total += int64(st.Blocks-st.Bfree)*int64(st.Bsize) + int64(st.Files-st.Ffree)*inodeSize
		if st.Blocks > 0 && st.Bavail == 0 || st.Files > 0 && st.Ffree == 0 {
			w.Full = dir
		}
	}
	return total
}

func sum(processes []process) (all usage) {
	for _, p := range processes {
		all.total += p.total
		all.shmem += p.shmem
		all.threads += p.threads
	}
	return all
}

func pidsOf(processes []process) []string {
	pids := make([]string, len(processes))
	for i, p := range processes {
		pids[i] = p.pid
	}
	return pids
}

// resident returns the cheap count of a process, from its status file, which every process may
// read.
func (w *oomWatcher) resident(pid string) usage {
	u, known := w.status(pid)
	if known || u.threads < 2 {
		return u
	}
	_, live := w.liveThread(pid)
	live.threads = u.threads
	return live
}

// liveThread finds a thread that still has the memory of its process. If the first thread of
// a process has ended, the files of the process show no memory.
func (w *oomWatcher) liveThread(pid string) (name string, u usage) {
	threads, _ := procpkg.Threads(path.Join(w.Proc, pid))
	for _, tid := range threads {
		name = path.Join(pid, "task", tid)
		if u, known := w.status(name); known {
			return name, u
		}
	}
	return pid, usage{}
}

// status reads a status file (proc_pid_status(5)). known reports whether it shows memory.
func (w *oomWatcher) status(name string) (u usage, known bool) {
	b, err := os.ReadFile(path.Join(w.Proc, name, "status"))
	if err != nil {
		return usage{}, false
	}
	u.threads = 1
	procpkg.ParseNumbers(b, func(name string, n int64) {
		known = known || name == "VmRSS"
		switch name {
		case "VmPTE":
			u.tables = n << 10
			u.total += n << 10
		case "VmRSS", "VmSwap":
			u.total += n << 10
		case "RssShmem":
			u.shmem = n << 10
		case "Threads":
			u.threads = max(1, int(n))
		}
	})
	return u, known
}

// proportional returns the exact count of a process: Pss and SwapPss of smaps_rollup, and the
// page tables of u, its cheap count. A process that made itself undumpable counts in full.
func (w *oomWatcher) proportional(pid string, u usage) usage {
	b, err := os.ReadFile(path.Join(w.Proc, pid, "smaps_rollup"))
	if err != nil && u.threads > 1 {
		name, _ := w.liveThread(pid)
		b, err = os.ReadFile(path.Join(w.Proc, name, "smaps_rollup"))
	}
	if err != nil {
		return w.resident(pid) // it may have ended meanwhile
	}
	u.total, u.shmem = u.tables, 0
	procpkg.ParseNumbers(b, func(name string, n int64) {
		switch name {
		case "Pss", "SwapPss":
			u.total += n << 10
		case "Pss_Shmem":
			u.shmem = n << 10
		}
	})
	return u
}

// program returns the name of a process.
func (w *oomWatcher) program(pid string) string {
	name, _ := os.ReadFile(path.Join(w.Proc, pid, "comm"))
	return strings.TrimSpace(string(name))
}

// Record locks (fcntl(2)) are kernel memory that neither a process nor a user has a limit of. The
// sampler counts them in /proc/locks. The kernel begins each read of that file at its start, so a
// count of many locks takes long: after maxLocks lines the jail is over its limit.

const (
	// lockSize is what the kernel keeps for a record lock.
	lockSize = 200
	// maxLocks is how many record locks a jail can have: 10 MB.
	maxLocks = 50000
)

// recordLocks returns how many record locks the processes hold, and maxLocks if they hold more.
func recordLocks(proc string, pids []string) (n int) {
	f, err := os.Open(path.Join(proc, "locks"))
	if err != nil {
		return 0
	}
	defer f.Close()
	ours := make(map[string]bool, len(pids))
	for _, pid := range pids {
		ours[pid] = true
	}
	lines := bufio.NewScanner(f)
	for read := 0; read < 2*maxLocks && n < maxLocks && lines.Scan(); read++ {
		// "7: POSIX  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"; a waiter has "->" after its number.
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && fields[1] == "POSIX" && ours[fields[4]] {
			n++
		}
	}
	return n
}

// Messages of System V (msgop(2)) are kernel memory that no process has. A jail has 32000 queues of 16 KB
// each, and of as many messages. Before Linux 5.18 the kernel counts anew for each line of the list, so after
// maxQueues of them the jail is over its limit.

const (
	// messageSize is what the kernel keeps for a message besides its text. It rounds the sum up, to twice
	// as much at most.
	messageSize = 48
	// maxQueues is how many message queues a jail can have.
	maxQueues = 4096
)

// messageQueues returns how many message queues this IPC namespace has, at most maxQueues, and what their
// messages take at most. In proc_sysvipc(5) msg the fourth column has bytes, and the fifth messages.
func messageQueues(proc string) (queues int, total int64) {
	f, err := os.Open(path.Join(proc, "sysvipc/msg"))
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan(); queues < maxQueues && lines.Scan(); queues++ { // the first line names the columns
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			bytes, _ := strconv.ParseInt(fields[3], 10, 64)
			messages, _ := strconv.ParseInt(fields[4], 10, 64)
			total += 2 * (bytes + messageSize*messages)
		}
	}
	return queues, total
}
