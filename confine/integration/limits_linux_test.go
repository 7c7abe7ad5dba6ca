package integration

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func limited(t testing.TB, l policy.Limits, grants ...jailtest.Grant) *policy.Profile {
	p := jailtest.Profile(t, grants...)
	p.Limits = l
	return p
}

// TestJailQueuedSignals: the kernel counts queued signals and timers per user, so the jail has a
// limit of its own.
func TestJailQueuedSignals(t *testing.T) {
	jailtest.Needs(t)
	testQueuedSignals(t)
}

// TestHostNSQueuedSignals is the same without namespaces.
func TestHostNSQueuedSignals(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testQueuedSignals(t)
}

func testQueuedSignals(t *testing.T) {
	var limit unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_SIGPENDING, &limit))
	if limit.Cur > 1<<20 {
		testkit.Skip(t, "sigpending", "the limit of queued signals is too high to be reached: %d", limit.Cur)
	}
	quarter := int(limit.Cur / 4)
	more := attacker.Try("timers", fmt.Sprint(quarter+1))
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", more)[0], attacker.Succeeded)
	for try := 0; ; try++ {
		got, err := jailtest.Run(t, confine.Launcher{Waive: jailtest.WaivesGaps.Waive}, jailtest.Profile(t), []attacker.Attempt{attacker.Try("limit", fmt.Sprint(unix.RLIMIT_SIGPENDING)), more})
		testkit.Must(t, err)
		jailtest.Expect(t, "raising it again", got[0], fmt.Sprintf("ok %d %d", quarter, quarter))
		n, why, _ := strings.Cut(got[1], " ")
		count, _ := strconv.Atoi(n)
		switch {
		case why != "EAGAIN" || count > quarter:
			t.Fatalf("%s, of a quarter of %d", got[1], limit.Cur)
		case count >= quarter/2:
			return
		case try == 20:
			t.Fatalf("%s, of a quarter of %d: other processes of this user have had the rest for too long", got[1], limit.Cur)
		}
		time.Sleep(500 * time.Millisecond) // without namespaces, what the user's other tests have counts too
	}
}

func TestJailFileSize(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t)
	p := limited(t, policy.Limits{FileSizeMB: 2}, jailtest.Grant{Path: dir, Rights: rw})
	got := jailtest.Attempts(t, p, attacker.Try("fill", dir+"/small", "2"), attacker.Try("fill", dir+"/big", "3"), attacker.Try("fill", "/tmp/big", "3"))
	testkit.Equal(t, "", fmt.Sprint(got), "[ok EFBIG EFBIG]")
	if fi, err := os.Stat(dir + "/big"); err != nil || fi.Size() > 2<<20 {
		t.Errorf("%v, %v", fi, err)
	}
	jailtest.Expect(t, "control", jailtest.Attempts(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), attacker.Try("fill", dir+"/big", "3"))[0], "ok")
}

// rootNeedsPidMax skips where root's limit of processes is a gap.
func rootNeedsPidMax(t testing.TB) {
	t.Helper()
	if os.Getuid() == 0 {
		kerneltest.Needs(t, "pid_max", "fresh_proc")
	}
}

// TestJailProcesses: a fork bomb stops at the limit. Root is exempt from RLIMIT_NPROC, so
// pid_max of the PID namespace must hold.
func TestJailProcesses(t *testing.T) {
	jailtest.Needs(t)
	rootNeedsPidMax(t)
	for _, limit := range []int{40, 200} {
		begun := time.Now()
		got := jailtest.Attempt(t, limited(t, policy.Limits{Processes: limit}), "fork", fmt.Sprint(10*limit))
		n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
		count, err := strconv.Atoi(n)
		if err != nil || why != "EAGAIN" || count > 2*limit || count < limit/2 {
			t.Errorf("limit %d: %s", limit, got)
		}
		t.Logf("limit %d: %s in %v", limit, got, time.Since(begun).Round(time.Millisecond))
	}
	jailtest.Expect(t, "without a limit", jailtest.Attempt(t, jailtest.Profile(t), "fork", "100"), "ok 100")
}

// TestJailProcessesOfRoot: the limit by pid_max of a PID namespace is exact.
func TestJailProcessesOfRoot(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 {
		t.Log("held by RLIMIT_NPROC")
		return
	}
	kerneltest.Needs(t, "pid_max", "fresh_proc")
	for _, limit := range []string{"40", "41"} {
		jailtest.Expect(t, "tasks with a limit of "+limit, jailtest.Attempt(t, limited(t, policy.Limits{Processes: attacker.Number(limit)}), "fork-all"), attacker.Outcome("ok "+limit))
	}
}

// TestJailMemory: memory counts wherever it is. TestJailResources has further rows.
func TestJailMemory(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	for _, c := range []struct {
		name   string
		what   attacker.Attempt
		killed bool // the server itself, and not perhaps another process
	}{
		{"two together", attacker.Try("allocate-two", "60"), false},
		{"shared", attacker.Try("allocate-shared", "200"), true},
		{"undumpable", attacker.Try("allocate-hidden", "200"), true},
		{"files of its own filesystems", attacker.Try("fill-both", "40"), true},
		{"a memfd that one thread alone has open", attacker.Try("allocate-own", "200"), true},
		{"a process whose first thread has ended", attacker.Try("allocate-first", "200"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := limited(t, policy.Limits{MemoryMB: 64})
			s := jailtest.Begin(t, p, c.what)
			exit := s.Finish()
			if d := denied(s.Process, "memory"); d.Axis != policy.AxisLimits || d.Target != "memory_mb = 64" || d.PID != 0 && d.Program != "attacker" || d.PID == 0 && kernel.LocateCgroup().None() {
				t.Errorf("denials %+v", s.Denials())
			}
			if c.killed && exit.Signal != syscall.SIGKILL {
				t.Errorf("exit %+v", exit)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		s := jailtest.Begin(t, limited(t, policy.Limits{MemoryMB: 1024}), attacker.Try("allocate", "200"))
		time.Sleep(2 * time.Second)
		select {
		case <-s.Done():
			t.Errorf("it ended below the limit: %q, %v", s.Errs.Text, s.Denials())
		default:
		}
		s.Kill()
		s.Finish()
		testkit.Empty(t, "denials", s.Denials())
	})
}

// denied is the denial of an operation, or nothing.
func denied(p *confine.Process, operation string) policy.Denial {
	for _, d := range p.Denials() {
		if d.Operation == operation {
			return d
		}
	}
	return policy.Denial{}
}

// TestJailReportsLimits: a server that reaches a limit and stays there has that limit recorded.
func TestJailReportsLimits(t *testing.T) {
	jailtest.Needs(t)
	kerneltest.Needs(t, "fresh_proc")
	for _, c := range []struct {
		name, operation, target, answer string
		limits                          policy.Limits
		what                            attacker.Attempt
	}{
		{"processes", "processes", "processes = 40", "EAGAIN", policy.Limits{MemoryMB: 512, Processes: 40}, attacker.Try("fork-wait", "400")},
		{"processes without memory", "processes", "processes = 40", "EAGAIN", policy.Limits{Processes: 40}, attacker.Try("fork-wait", "400")},
		{"/tmp", "space in /tmp", "memory_mb = 64", "ENOSPC", policy.Limits{MemoryMB: 64}, attacker.Try("full", "/tmp", "40")},
		{"/dev/shm", "space in /dev/shm", "memory_mb = 64", "ENOSPC", policy.Limits{MemoryMB: 64}, attacker.Try("full", "/dev/shm", "40")},
		{"control", "", "", "ok", policy.Limits{MemoryMB: 512, Processes: 512}, attacker.Try("full", "/tmp", "40")},
		{"control of processes", "", "", "ok", policy.Limits{MemoryMB: 512, Processes: 512}, attacker.Try("fork-wait", "60")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.limits.Processes > 0 {
				rootNeedsPidMax(t)
			}
			s := jailtest.Begin(t, limited(t, c.limits), c.what)
			exit := s.Finish()
			if exit.Signal == unix.SIGKILL || !strings.Contains(s.Out.String(), c.answer) {
				t.Errorf("the program saw %q, want %s; %+v, %.300s", s.Out, c.answer, exit, s.Errs.Text)
			}
			denials := s.Denials()
			switch {
			case c.operation == "" && len(denials) != 0:
				t.Errorf("denials %+v", denials)
			case c.operation != "" && (len(denials) != 1 || denials[0].Operation != c.operation || denials[0].Target != c.target):
				t.Errorf("denials %+v, want %s of %s", denials, c.operation, c.target)
			}
		})
	}
}

// TestServerGuard: the server cannot share its table of descriptors with another process, where record locks
// would stay that the sampler does not find. With the second flag the kernel starts none in either case.
func TestServerGuard(t *testing.T) {
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	jailtest.Expect(t, "a shared table", jailtest.Attempt(t, p, "reaches", "EINVAL", "clone", strconv.Itoa(unix.CLONE_FILES|unix.CLONE_SIGHAND)), "EPERM")
	jailtest.Expect(t, "the control: a table of its own", jailtest.Attempt(t, p, "reaches", "EINVAL", "clone", strconv.Itoa(unix.CLONE_SIGHAND)), "ok")
}

func TestJailMakesNoCore(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t)
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	p.Dir = dir
	p.Argv = append(p.Argv[:1:1], jailtest.Args(t, []attacker.Attempt{attacker.Try("crash")})...)
	proc := testkit.Get(confine.Launcher{}.Start(t.Context(), p, jail.Stdio{}))(t)
	exit, _ := proc.Wait()
	testkit.Equal(t, fmt.Sprintf("exit %+v", exit), exit.Signal, syscall.SIGSEGV)
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// TestSupervisorAnswersWithoutProcessesLeft: the supervisor has all its threads when the limit
// of processes is reached and every process asks it at once.
func TestSupervisorAnswersWithoutProcessesLeft(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	rootNeedsPidMax(t)
	dir := testkit.Plant(t)
	p := limited(t, policy.Limits{Processes: 120, OpenFiles: 1024}, jailtest.Grant{Path: dir, Rights: rw})
	p.Dir = dir
	if got := jailtest.Attempt(t, p, "fork-busy", "400", strconv.Itoa(jailtest.Rounds(2, 5))); !strings.HasSuffix(got, " EAGAIN") {
		t.Errorf("got %q", got)
	}
}

// TestSupervisorThreads: the limit of processes leaves the supervisor the threads that it may
// need. The Go runtime ends a process that cannot have one.
func TestSupervisorThreads(t *testing.T) {
	jailtest.Needs(t)
	rootNeedsPidMax(t)
	s := jailtest.Begin(t, limited(t, policy.DefaultLimits), attacker.Try("wait"))
	n := 0
	testkit.Eventually(t, "the threads of the supervisor", func() bool {
		names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.PID()))
		n = len(names)
		return n >= 8
	})
	s.Kill()
	s.Finish()
	if t.Logf("%d threads", n); n > spec.SupervisorThreads {
		t.Errorf("%d threads, of %d", n, spec.SupervisorThreads)
	}
}
