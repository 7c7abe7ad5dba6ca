package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHostNSEndsDaemons is TestJailEndsDaemons without namespaces, where the supervisor itself must end
// all processes, also those that are made meanwhile.
func TestHostNSEndsDaemons(t *testing.T) {
	jailtest.NeedsHostNS(t)
	endsDaemons(t, jailtest.WaivesGaps, gone)
	t.Run("a fork bomb", func(t *testing.T) {
		p := jailtest.Profile(t)
		p.Limits = policy.Limits{Processes: 300}
		if os.Getuid() == 0 {
			p.Limits = policy.Limits{} // root is exempt, and the plan says so: the bomb below is a bounded one
		}
		s := jailtest.BeginBy(t, jailtest.WaivesGaps, p, attacker.Try("bomb", "30"))
		s.Errs.Await(t, "daemon")
		time.Sleep(50 * time.Millisecond)
		s.Kill()
		s.Finish()
		gone(s)
	})
}

// gone checks that nothing is left of a jail: no process that has its TMPDIR in
// its environment, no directory.
func gone(s *jailtest.Started) {
	s.T.Helper()
	tmp := s.Plan().Spec.TempDir
	if _, err := os.Lstat(tmp); tmp == "" || !errors.Is(err, os.ErrNotExist) {
		s.T.Errorf("%q is left: %v", tmp, err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		if b, _ := os.ReadFile(file); strings.Contains(string(b), "TMPDIR="+tmp) {
			s.T.Errorf("left: %s", file)
		}
	}
}

// TestHostNSLauncherIsKilled: SIGKILL of the launcher at any moment leaves neither a process nor
// a directory.
func TestHostNSLauncherIsKilled(t *testing.T) {
	jailtest.NeedsHostNS(t)
	tmp := t.TempDir()
	p := jailtest.Profile(t, jailtest.Grant{Path: tmp, Rights: rw})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	p.Waive = jailtest.WaivesGaps.Waive
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("daemon", "2"), attacker.Try("tmp"), attacker.Try("wait")})...)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	for i := range jailtest.Rounds(10, 40) {
		killLauncher(t, []*policy.Profile{p, p}, time.Duration(random.IntN(60_000))*time.Microsecond, i == 0, "TMPDIR="+tmp)
		testkit.Eventually(t, "no directory in "+tmp, func() bool {
			left, _ := os.ReadDir(tmp)
			return len(left) == 0
		})
	}
}

// TestHostNSDumps: a core dump of the server holds no memory, wherever the kernel sends it.
func TestHostNSDumps(t *testing.T) {
	jailtest.NeedsHostNS(t)
	s := jailtest.BeginBy(t, jailtest.WaivesGaps, jailtest.Profile(t), attacker.Try("wait"))
	var filters []string
	testkit.Eventually(t, "a child of the supervisor", func() bool {
		filters = dumpFilters(t, s.PID())
		return len(filters) > 1
	})
	s.Kill()
	s.Finish()
	if slices.ContainsFunc(filters, func(f string) bool { return f != "00000000" }) {
		t.Errorf("the supervisor and the server: %q", filters)
	}
	if own := dumpFilters(t, os.Getpid()); own[0] == "00000000" {
		t.Errorf("this process: %q, so that the jail's show nothing", own)
	}
}

// dumpFilters returns the coredump filters of a process and of its children.
func dumpFilters(t *testing.T, pid int) (filters []string) {
	t.Helper()
	proc := fmt.Sprint("/proc/", pid)
	b := testkit.Get(os.ReadFile(proc + "/coredump_filter"))(t)
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
