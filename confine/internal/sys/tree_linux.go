package sys

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// parentPIDs returns the parent of each visible process.
func parentPIDs() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	parents := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid": the name may contain anything, so parse after its last bracket.
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	return parents, nil
}

// Children returns the visible children of a process.
func Children(parent int) (pids []int) {
	parents, _ := parentPIDs()
	for pid, p := range parents {
		if p == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Descendants returns all processes below this one.
func Descendants() ([]string, error) {
	parents, err := parentPIDs()
	if err != nil {
		return nil, err
	}
	var pids []string
	self := os.Getpid()
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == self {
				pids = append(pids, strconv.Itoa(pid))
				break
			}
		}
	}
	return pids, nil
}

// UserThreads returns how many threads the kernel counts for a user's RLIMIT_NPROC.
func UserThreads(uid int) (n int) {
	parents, _ := parentPIDs()
	for pid := range parents {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		matches, threads := false, 0
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case len(f) < 2:
			case f[0] == "Uid:":
				matches = f[1] == strconv.Itoa(uid)
			case f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if matches {
			n += threads
		}
	}
	return n
}

// JailInit is the number of a jail's init in the outer PID namespace, and jailParent that of the server's
// parent. The supervisor is 1 there.
const (
	JailInit   = 2
	jailParent = 3
)

// JailProcesses returns a function that lists the processes of a jail but for the supervisor, the
// init and the server's parent. proc is the supervisor's proc filesystem.
func JailProcesses(proc string) func() ([]string, error) {
	return func() ([]string, error) {
		dir, err := os.Open(proc)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		names, err := dir.Readdirnames(-1)
		pids := names[:0]
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n > jailParent {
				pids = append(pids, name)
			}
		}
		return pids, err
	}
}
