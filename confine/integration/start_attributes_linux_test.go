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
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
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
	testkit.Must(t, err)
	return n
}

// TestJailScheduling: the server and its supervisor have the scheduling policy of the launcher.
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
		testkit.Must(t, err)
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
		testkit.Must(t, err)
		found = append(found, schedulingPolicy(t, string(b)))
	}
	return found
}

// TestJailUmask: a umask that takes rights from the owner applies to the program and not to the
// jail. A launcher may pass on a umask that it does not have itself.
func TestJailUmask(t *testing.T) {
	jailtest.Needs(t)
	testUmask(t, []policy.Axis{policy.AxisFs}, attacker.Try("read", "/etc/hosts"), attacker.Try("create", "/dev/shm/there"))
}

// testUmask starts programs under umasks, and has them make attempts in the jail's own
// places besides.
func testUmask(t *testing.T, waive []policy.Axis, own ...attacker.Attempt) {
	t.Helper()
	asked := 0o377
	for _, c := range []struct {
		launcher confine.Launcher
		umask    int
		want     attacker.Outcome
		mode     os.FileMode // of what is made with 0644
	}{
		{confine.Launcher{}, 0o777, "ok 777", 0},
		{confine.Launcher{}, 0o300, "ok 300", 0o444},
		{confine.Launcher{Umask: &asked}, 0o077, "ok 377", 0o400},
		{confine.Launcher{Umask: new(int)}, 0o777, "ok 000", 0o644},
	} {
		dir := testkit.Plant(t, "place/")
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
		p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
		attempts := append([]attacker.Attempt{attacker.Try("mkfile", dir+"/place/made"), attacker.Try("umask"), attacker.Try("tmp")}, own...)
		c.launcher.Waive = waive
		before := unix.Umask(c.umask)
		got, err := jailtest.Run(t, c.launcher, p, attempts)
		unix.Umask(before)
		if err != nil {
			t.Fatalf("under %03o: %v", c.umask, err)
		}
		jailtest.Expect(t, "umask", got[1], c.want)
		for i, a := range attempts {
			if !strings.HasPrefix(got[i], attacker.Succeeded) {
				t.Errorf("under %03o, %s: %s", c.umask, a, got[i])
			}
		}
		if fi, err := os.Stat(dir + "/place/made"); err != nil {
			t.Error(err)
		} else if fi.Mode().Perm() != c.mode {
			t.Errorf("under %03o it made a file of mode %v, want %v", c.umask, fi.Mode(), c.mode)
		}
	}
}
