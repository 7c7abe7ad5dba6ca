package proc

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

func ParentDir(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// parents maps every process that can be seen to the one that it is a child of.
func Parents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	of := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone
		}
		// pid (name) state ppid: a name may hold anything, so from its last bracket.
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 1 {
			of[pid], _ = strconv.Atoi(f[1])
		}
	}
	return of, nil
}

func ChildrenOf(parent int) (pids []int) {
	of, _ := Parents()
	for pid, p := range of {
		if p == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants are the numbers of all processes below this one.
func Descendants() ([]string, error) {
	of, err := Parents()
	if err != nil {
		return nil, err
	}
	var pids []string
	self := os.Getpid()
	for pid := range of {
		for up := of[pid]; up > 1; up = of[up] {
			if up == self {
				pids = append(pids, strconv.Itoa(pid))
				break
			}
		}
	}
	return pids, nil
}

// tasksOfUser counts the threads that the kernel counts for RLIMIT_NPROC.
func TasksOfUser(uid int) (n int) {
	of, _ := Parents()
	for pid := range of {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		mine, threads := false, 0
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case len(f) < 2:
			case f[0] == "Uid:":
				mine = f[1] == strconv.Itoa(uid)
			case f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if mine {
			n += threads
		}
	}
	return n
}
