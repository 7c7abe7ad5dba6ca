package confine

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// memoryWatch samples the memory of every process below /proc but the first.
type memoryWatch struct {
	limit int64
	used  int64 // at the last sample
}

// sample reports whether the processes together are over the limit, and which
// is the largest. The cheap count (private pages, which counts what forks share
// more than once) decides only that it is time for the exact one.
func (w *memoryWatch) sample() (over bool, pid int, program string) {
	if w.used, _ = w.sum(privatePages); w.used <= w.limit {
		return false, 0, ""
	}
	if w.used, pid = w.sum(proportional); w.used <= w.limit || pid == 0 {
		return false, 0, ""
	}
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return true, pid, strings.TrimSpace(string(name))
}

// pause waits longer the further the use is from the limit.
func (w *memoryWatch) pause() {
	d := time.Second
	if w.used > w.limit/4 {
		d = 100 * time.Millisecond
	}
	time.Sleep(d)
}

func (w *memoryWatch) sum(of func(pid string) int64) (total int64, largest int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var most int64
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid <= 1 {
			continue
		}
		n := of(name)
		total += n
		if n > most {
			most, largest = n, pid
		}
	}
	return total, largest
}

// privatePages is resident minus shared of proc(5) statm.
func privatePages(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 3 {
		return 0
	}
	return (parseInt(f[1]) - parseInt(f[2])) * int64(os.Getpagesize())
}

// proportional is Pss of proc(5) smaps_rollup.
func proportional(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return privatePages(pid)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			return parseInt(strings.Fields(rest)[0]) << 10
		}
	}
	return 0
}
