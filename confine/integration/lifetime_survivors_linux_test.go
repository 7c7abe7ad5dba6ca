package integration

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// ownProcEnv is set where the test is alone in a PID namespace, so that everything
// that it finds in /proc is its own.
const ownProcEnv = "MCPJAIL_TEST_OWN_PROC"

// reaperEnv is set where the test is the process that orphans become children of. It is a
// process that runs no other test, since it waits for any child.
const reaperEnv = "MCPJAIL_TEST_REAPER"

// TestJailSurvivors kills the launcher and each other part of a jail, each
// a hundred times and at any moment, or fifteen times in its short form. Nothing of the jail
// may be left: no process, thread or namespace, no mount, no file.
func TestJailSurvivors(t *testing.T) {
	if os.Getenv(ownProcEnv) != "" {
		// No mount of the new namespace propagates, and no other process writes to these directories.
		testkit.Must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		for place, kind := range map[string]string{"/proc": "proc", "/dev/shm": "tmpfs", "/tmp": "tmpfs"} {
			testkit.Must(t, unix.Mount("none", place, kind, 0, ""))
		}
	}
	jailtest.Needs(t)
	if os.Getenv(reaperEnv) == "" {
		cmd := exec.Command(jailtest.Binary, "-test.run=^TestJailSurvivors$", "-test.v", "-test.timeout=30m")
		cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary, reaperEnv+"=1")
		if os.Getuid() == 0 {
			cmd.Env = append(cmd.Env, ownProcEnv+"=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestJailSurvivors") {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	testkit.Must(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	for _, victim := range parts {
		t.Run(victim, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 2))
			s := newSurvivors(t)
			for i := range jailtest.Rounds(15, 100) {
				s.once(t, victim, time.Duration(random.IntN(40_000))*time.Microsecond, i == 0)
			}
		})
	}
}

// parts are the processes of a start, each the parent of the next.
var parts = []string{"launcher", "supervisor", "init", "parent", "server"}

// survivors is a jail to be killed, and all of the host that it could leave
// something on.
type survivors struct {
	dir    string // its places
	order  []byte
	before string
}

func newSurvivors(t *testing.T) *survivors {
	t.Helper()
	s := &survivors{dir: testkit.Plant(t, "ws/file", "ws/masked", "ws/ro/x", "state/", "tmp/")}
	p := jailtest.Profile(t, jailtest.Grant{Path: s.dir + "/ws", Rights: rw}, jailtest.Grant{Path: s.dir + "/ws/masked", Rights: 0}, jailtest.Grant{Path: s.dir + "/ws/ro", Rights: r})
	p.Entries = append(p.Entries, policy.Entry{
		Path: s.dir + "/state/servers/test/home", Named: "home", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome, Rule: "home", Make: true, Ephemeral: true,
	})
	jailtest.SortEntries(p)
	if err := os.MkdirAll(s.dir+"/state/servers/test/home", 0o700); err != nil { // as after the first start
		t.Fatal(err)
	}
	p.Limits = policy.Limits{MemoryMB: 512, Processes: 100}
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("daemon", "2"), attacker.Try("wait")})...)
	var b bytes.Buffer
	testkit.Must(t, gob.NewEncoder(&b).Encode([]*policy.Profile{p}))
	s.order, s.before = b.Bytes(), ""
	s.before = s.host(t)
	return s
}

// host lists what a jail could leave behind: processes with their namespaces, mounts, files in
// the directories of jails and of the launcher, and cgroups.
func (s *survivors) host(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, p := range processes() {
		fmt.Fprintf(&b, "process %s\n", p)
	}
	if os.Getenv(ownProcEnv) != "" { // else others are at work there, and an ordinary user mounts nothing
		left, _ := filepath.Glob("/tmp/*")
		fmt.Fprintf(&b, "mounts\n%s\nnames\n%s\n%s\n", jailtest.Mountinfo(t), jailtest.RootNames(t), left)
	}
	fmt.Fprintln(&b, jailtest.HostTree(t, s.dir))
	filepath.WalkDir("/sys/fs/cgroup", func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.Contains(d.Name(), "mcp-jail") {
			fmt.Fprintf(&b, "cgroup %s\n", p)
		}
		return nil
	})
	return b.String()
}

// processes lists processes with their namespaces, without this process: all processes if
// the test is alone in a PID namespace, else its descendants. Orphans are among them, since
// this process is a subreaper.
func processes() []string {
	pids := descendants(os.Getpid())
	if os.Getenv(ownProcEnv) != "" {
		pids = nil
		names, _ := filepath.Glob("/proc/[0-9]*")
		for _, name := range names {
			if pid := attacker.Number(filepath.Base(name)); pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	var out []string
	for _, pid := range pids {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err != nil {
			continue
		}
		line := strconv.Itoa(pid) + " " + strings.TrimSpace(string(comm))
		for _, kind := range []string{"mnt", "net", "pid", "ipc", "user", "uts", "cgroup"} {
			ns, _ := os.Readlink(filepath.Join(dir, "ns", kind))
			line += " " + ns
		}
		out = append(out, line)
	}
	return out
}

// once starts a launcher with one jail and kills a part of it, after a moment or, as the
// control, when all of the jail runs.
func (s *survivors) once(t *testing.T, victim string, moment time.Duration, control bool) {
	t.Helper()
	pipe := newWitness(t)
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = []string{launcherName}
	cmd.Env = append(os.Environ(), "TMPDIR="+s.dir+"/tmp")
	cmd.Stdin = bytes.NewReader(s.order)
	cmd.ExtraFiles = []*os.File{pipe.w}
	out := &jailtest.Output{}
	cmd.Stdout = out
	testkit.Must(t, cmd.Start())
	launcher := cmd.Process.Pid
	target := awaitPart(launcher, slices.Index(parts, victim))
	if target == 0 {
		t.Fatalf("there is no %s to kill: %s", victim, out.Text)
	}
	if control {
		testkit.Eventually(t, "all parts but the launcher, and two daemons, run", func() bool {
			return out.Count("up\n") == 1 && len(descendants(launcher)) >= len(parts)-1+2
		})
	} else {
		time.Sleep(moment)
	}
	syscall.Kill(target, syscall.SIGKILL)
	if victim != "launcher" {
		// The jail is gone while its launcher lives.
		testkit.Eventually(t, "the end of the jail", func() bool { return s.ended(launcher, victim, target) })
		cmd.Process.Kill()
	}
	cmd.Wait()
	pipe.gone(t)
	now := ""
	for range 200 { // the kernel takes a moment for what has been killed
		for { // orphans are children of this process
			if pid, _ := unix.Wait4(-1, nil, unix.WNOHANG, nil); pid <= 0 {
				break
			}
		}
		if now = s.host(t); now == s.before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("after %v, %s killed, this is left:\n%s\nand this is gone:\n%s", moment, victim, linesBeyond(now, s.before), linesBeyond(s.before, now))
}

// linesBeyond are the lines of a that b has not.
func linesBeyond(a, b string) string {
	known := strings.Split(b, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(a, "\n"), func(l string) bool { return slices.Contains(known, l) }), "\n")
}

// startedBy lists the processes whose parent a process is. The kernel's own list,
// /proc/PID/task/TID/children, leaves out some while others of them end (proc(5)).
func startedBy(pid int) (out []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == strconv.Itoa(pid) {
			out = append(out, attacker.Number(filepath.Base(filepath.Dir(name))))
		}
	}
	slices.Sort(out)
	return out
}

// descendants lists the processes that come from a process.
func descendants(pid int) (all []int) {
	for _, child := range startedBy(pid) {
		all = append(append(all, child), descendants(child)...)
	}
	return all
}

// ended reports whether the launcher has no child. A launcher that finds out what the kernel
// offers starts processes for that before the jail. If one of those was the target, the part of
// the jail that it was to be is killed now.
func (s *survivors) ended(launcher int, victim string, target int) bool {
	children := startedBy(launcher)
	if len(children) == 0 {
		return true
	}
	for depth := slices.Index(parts, victim) - 1; depth > 0 && len(children) > 0; depth-- {
		children = startedBy(children[0])
	}
	if len(children) > 0 && children[0] != target {
		syscall.Kill(children[0], syscall.SIGKILL)
	}
	return false
}

// awaitPart waits for the process that is so many generations below a launcher: the supervisor, or what
// becomes it, is one below.
func awaitPart(launcher, below int) int {
	for range 5000 {
		pid := launcher
		for n := 0; n < below && pid != 0; n++ {
			pid = firstChild(pid)
		}
		if pid != 0 {
			return pid
		}
		time.Sleep(time.Millisecond)
	}
	return 0
}

// firstChild returns the first process that a process started, or 0: the one with the least number
// in its own PID namespace. Outside of it, numbers may have begun again at 1, and orphans
// become children of the init.
func firstChild(pid int) (first int) {
	least := 0
	for _, child := range startedBy(pid) {
		if n := innerPID(child); n > 0 && (first == 0 || n < least) {
			first, least = child, n
		}
	}
	return first
}

// innerPID returns the number of a process in its own PID namespace, or 0 if it has ended.
func innerPID(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	numbers := strings.Fields(line)
	if len(numbers) == 0 {
		return 0
	}
	return attacker.Number(numbers[len(numbers)-1])
}
