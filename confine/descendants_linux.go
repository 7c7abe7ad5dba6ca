package confine

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// removeTree removes a directory that its user may have shut in places; "" is none.
func removeTree(dir string) {
	for dir != "" { // each time one more is opened up
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return
		}
		shut := false
		for _, p := range []string{pe.Path, parentDir(pe.Path)} {
			// No link is followed, and only what is ours can be opened up.
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 && policy.Within(p, dir) {
				shut = os.Chmod(p, 0o700) == nil || shut
			}
		}
		if !shut {
			return
		}
	}
}

func parentDir(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// parents maps every process that can be seen to the one that it is a child of.
func parents() (map[int]int, error) {
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

func childrenOf(parent int) (pids []int) {
	of, _ := parents()
	for pid, p := range of {
		if p == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants are the numbers of all processes below this one.
func descendants() ([]string, error) {
	of, err := parents()
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
func tasksOfUser(uid int) (n int) {
	of, _ := parents()
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
