package sandboxexec

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"golang.org/x/sys/unix"
)

// procTable reads /proc. It is for tests: on Linux no product starts a server by this package.
type procTable struct{}

// TestInit is the first argument of the first process of the PID namespace in which tests start
// servers by this package.
const TestInit = "mcp-jail: first process of tests"

// openTable refuses to work outside of such a namespace: a fault of a family must not reach the
// machine.
func openTable() (table, error) {
	if first, _, _ := strings.Cut(proc.ReadLine("/proc/1/cmdline"), "\x00"); first != TestInit {
		return nil, errors.New("this process is not in the PID namespace of a test")
	}
	return procTable{}, nil
}

func (procTable) processes() ([]process, error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []process
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		f := statFields(pid)
		if f == nil || hasEnded(f) {
			continue
		}
		parent, _ := strconv.Atoi(string(f[1]))
		start, _ := strconv.ParseInt(string(f[19]), 10, 64)
		all = append(all, process{pid: pid, parent: parent, start: start})
	}
	return all, nil
}

// hasEnded reports whether no thread of a process is left. The state is that of its first thread alone,
// which another thread outlives: for ever, or for the moment in which it executes a program.
func hasEnded(stat [][]byte) bool {
	return (stat[0][0] == 'Z' || stat[0][0] == 'X') && string(stat[17]) <= "1"
}

// statFields returns the fields of /proc/PID/stat from the third on, or nil.
func statFields(pid int) [][]byte {
	b, err := proc.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 22 {
		return nil
	}
	return f
}

func (procTable) session(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return 0
	}
	return sid
}

func (procTable) follow(int) {}

// wait waits for the shorter of d and 10 ms, in which a fork is to be seen.
func (procTable) wait(d time.Duration) { time.Sleep(min(d, 10*time.Millisecond)) }

func (procTable) resident(pid int) (int64, bool) {
	f := statFields(pid)
	if f == nil {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(f[21]), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil
}

func (procTable) name(pid int) string { return proc.ReadLine("/proc/" + strconv.Itoa(pid) + "/comm") }

func (procTable) signal(pid int, sig unix.Signal) { unix.Kill(pid, sig) }

func (procTable) close() {}

// followOrphans makes orphans children of this process. It stands for NOTE_FORK of macOS, by which
// the family sees a process before its parent ends: /proc tells of no forks.
func followOrphans() { unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
