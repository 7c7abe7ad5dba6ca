package integration

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"golang.org/x/sys/unix"
)

// schedulingPolicy is the 41st field of a line of proc_pid_stat(5).
func schedulingPolicy(t *testing.T, stat string) int {
	t.Helper()
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third on
	if len(fields) < 39 {
		t.Fatalf("stat is %q", stat)
	}
	n, err := strconv.Atoi(fields[38])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestJailScheduling: the server is scheduled as its launcher is, and so is its init.
func TestJailScheduling(t *testing.T) {
	jailtest.Needs(t)
	become := func(policy int) {
		var priority int32
		if _, _, errno := syscall.AllThreadsSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, uintptr(policy), uintptr(unsafe.Pointer(&priority))); errno != 0 {
			t.Fatal(errno)
		}
	}
	defer become(unix.SCHED_NORMAL)
	for _, want := range []int{unix.SCHED_NORMAL, unix.SCHED_BATCH} {
		become(want)
		p := jailtest.Profile(t)
		if got := schedulingPolicy(t, strings.TrimPrefix(jailtest.Attempt(t, p, "read", "/proc/self/stat"), "ok ")); got != want {
			t.Errorf("the server of a launcher with policy %d has %d", want, got)
		}
		q := jailtest.Profile(t)
		q.Argv = append(q.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("wait")})...)
		var out strings.Builder
		proc, _, err := jailtest.Start(t, confine.Launcher{}, q, &out, &out)
		if err != nil {
			t.Fatal(err)
		}
		found := threadPolicies(t, proc.PID())
		proc.Kill()
		<-proc.Done()
		if slices.ContainsFunc(found, func(p int) bool { return p != want }) {
			t.Errorf("the tasks of the init have the policies %v, and the launcher %d", found, want)
		}
	}
}

func threadPolicies(t *testing.T, pid int) (found []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	if err != nil || len(files) == 0 {
		t.Fatalf("no threads of %d: %v", pid, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // it has ended since
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, schedulingPolicy(t, string(b)))
	}
	return found
}
