package confine

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// memoryWatch samples the memory of every process below /proc but the first,
// and of the jail's own filesystems. What it cannot see is memory that nobody
// maps: a memfd that was only written to, a detached SysV segment.
type memoryWatch struct {
	proc  string // the jail's /proc
	limit int64
	tmpfs []string
	used  int64 // at the last sample
}

// usage is the memory of one process, or of several.
type usage struct{ total, shmem int64 }

// sample reports whether the processes together are over the limit, and which
// is the largest. The cheap count, which counts what is shared once for everyone
// and so is never too low, decides only that it is time for the exact one.
func (w *memoryWatch) sample() (over bool, pid int, program string, err error) {
	files := w.files()
	sum, _, err := w.sum(resident)
	if w.used = sum.total + files; err != nil || w.used <= w.limit {
		return false, 0, "", err
	}
	// Files of a tmpfs that are mapped are in both numbers.
	sum, pid, err = w.sum(proportional)
	if w.used = sum.total - sum.shmem + max(sum.shmem, files); err != nil || w.used <= w.limit || pid == 0 {
		return false, 0, "", err
	}
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return true, pid, strings.TrimSpace(string(name)), nil
}

// pause waits longer the further the use is from the limit.
func (w *memoryWatch) pause() {
	d := time.Second
	if w.used > w.limit/4 {
		d = 100 * time.Millisecond
	}
	time.Sleep(d)
}

// files is what the files of the jail's own filesystems take.
func (w *memoryWatch) files() (total int64) {
	for _, dir := range w.tmpfs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			total += int64(st.Blocks-st.Bfree) * int64(st.Bsize)
		}
	}
	return total
}

func (w *memoryWatch) sum(of func(pid string) usage) (all usage, largest int, err error) {
	dir, err := os.Open(w.proc)
	if err != nil {
		return usage{}, 0, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return usage{}, 0, err
	}
	var most int64
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 1 {
			continue
		}
		n := of(name)
		all.total += n.total
		all.shmem += n.shmem
		if n.total > most {
			most, largest = n.total, pid
		}
	}
	return all, largest, nil
}

// resident is the second number of proc(5) statm.
func resident(pid string) usage {
	b, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return usage{}
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return usage{}
	}
	return usage{total: parseInt(f[1]) * int64(os.Getpagesize())}
}

// proportional is Pss of proc(5) smaps_rollup. A process that made itself
// undumpable counts in full.
func proportional(pid string) (u usage) {
	b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return resident(pid)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2:
		case f[0] == "Pss:":
			u.total = parseInt(f[1]) << 10
		case f[0] == "Pss_Shmem:":
			u.shmem = parseInt(f[1]) << 10
		}
	}
	return u
}
