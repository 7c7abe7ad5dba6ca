package oom

import (
	"bufio"
	"os"
	"path"
	"strings"
)

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
