package confine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBareEndsDaemons: whoever left the session and ignores signals ends with the
// jail, however that ends.
func TestBareEndsDaemons(t *testing.T) {
	needsBare(t)
	for name, end := range map[string]func(s *started){
		"by Kill":          func(s *started) { s.Kill() },
		"by Signal":        func(s *started) { s.Signal(syscall.SIGKILL) },
		"with its program": func(s *started) { s.Signal(syscall.SIGTERM) },
		"after being stopped": func(s *started) {
			unix.Kill(s.PID(), unix.SIGSTOP)
			s.Kill()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := beginWith(t, allGaps, jailProfile(t), try("daemon", "3"), try("daemon", "1"), try("caught"))
			testkit.Eventually(t, "both daemons run", func() bool {
				s.errs.mu.Lock()
				defer s.errs.mu.Unlock()
				return strings.Count(s.errs.text, "daemon") == 2
			})
			end(s)
			s.finish()
			gone(s)
		})
	}
	t.Run("a fork bomb", func(t *testing.T) {
		p := jailProfile(t)
		p.Limits = policy.Limits{Processes: 300}
		if os.Getuid() == 0 {
			p.Limits = policy.Limits{} // root is exempt, and the plan says so: the bomb below is a bounded one
		}
		s := beginWith(t, allGaps, p, try("bomb", "30"))
		s.errs.await(t, "daemon")
		time.Sleep(50 * time.Millisecond)
		s.Kill()
		s.finish()
		gone(s)
	})
}

// gone checks that nothing is left of a jail: no process that has its TMPDIR in
// its environment, no directory.
func gone(s *started) {
	s.t.Helper()
	tmp := s.tmp
	if _, err := os.Lstat(tmp); tmp == "" || !errors.Is(err, os.ErrNotExist) {
		s.t.Errorf("%q is left: %v", tmp, err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		if b, _ := os.ReadFile(file); strings.Contains(string(b), "TMPDIR="+tmp) {
			s.t.Errorf("left: %s", file)
		}
	}
}

// TestBareInitIsKilled: the init by itself is nobody's PID 1. Its program ends with
// it, the launcher clears up, and what has detached itself survives: that is the gap.
func TestBareInitIsKilled(t *testing.T) {
	needsBare(t)
	s := beginWith(t, allGaps, jailProfile(t), try("daemon", "0s"), try("wait"))
	s.errs.await(t, "daemon")
	unix.Kill(s.PID(), unix.SIGKILL)
	exit, _ := s.Wait()
	if exit != (Exit{Code: 137, Signal: syscall.SIGKILL, Why: lostJail}) {
		t.Errorf("%+v", exit)
	}
	if _, err := os.Lstat(s.tmp); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", s.tmp, err)
	}
	within(t, "the end of the one that waits for it", s.ends)
	if plan := s.Plan(); !slices.ContainsFunc(plan.Gaps, func(g Gap) bool {
		return g.Axis == policy.AxisProcess && strings.Contains(g.What, "survives") && g.Waived
	}) {
		t.Errorf("%+v", plan.Gaps)
	}
}

// TestBareLauncherIsKilled: SIGKILL of the launcher at any moment leaves neither a
// process nor a directory.
func TestBareLauncherIsKilled(t *testing.T) {
	needsBare(t)
	tmp := t.TempDir()
	p := jailProfile(t, grant{tmp, rw})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	p.Waive = allGaps.Waive
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("daemon", "2"), try("tmp"), try("wait")})...)
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	for i := range 40 {
		killLauncher(t, []*policy.Profile{p, p}, time.Duration(random.IntN(60_000))*time.Microsecond, i == 0, "TMPDIR="+tmp)
		testkit.Eventually(t, "no directory in "+tmp, func() bool {
			left, _ := os.ReadDir(tmp)
			return len(left) == 0
		})
	}
}

// TestBareDumps: what the kernel sends somewhere when the server crashes holds no memory.
func TestBareDumps(t *testing.T) {
	needsBare(t)
	s := beginWith(t, allGaps, jailProfile(t), try("wait"))
	var filters []string
	testkit.Eventually(t, "a child of the init", func() bool {
		filters = dumpFilters(t, s.PID())
		return len(filters) > 1
	})
	s.Kill()
	s.finish()
	if slices.ContainsFunc(filters, func(f string) bool { return f != "00000000" }) {
		t.Errorf("the init and the server: %q", filters)
	}
	if own := dumpFilters(t, os.Getpid()); own[0] == "00000000" {
		t.Errorf("this process: %q, so that the jail's show nothing", own)
	}
}

// dumpFilters are what dumps of a process and of its children would hold.
func dumpFilters(t *testing.T, pid int) (filters []string) {
	t.Helper()
	proc := fmt.Sprint("/proc/", pid)
	b, err := os.ReadFile(proc + "/coredump_filter")
	if err != nil {
		t.Fatal(err)
	}
	filters = append(filters, strings.TrimSpace(string(b)))
	tasks, _ := filepath.Glob(proc + "/task/*/children")
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		for _, child := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(child)
			filters = append(filters, dumpFilters(t, n)...)
		}
	}
	return filters
}
