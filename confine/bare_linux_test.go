package confine

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The tests of jails without namespaces, TestBare…, run where user namespaces are
// refused. TestWithoutNamespaces makes such places out of this host, and runs them
// there: nothing in the launcher knows that it is a test.

// forbidEnv has the test binary forbid user namespaces to itself before anything
// else: "filter" by a seccomp filter, as containers have one, "limit" by setting
// user.max_user_namespaces to 0 in the user namespace that it is in.
const forbidEnv = "MCPJAIL_TEST_FORBID"

func runForbid(how string) {
	runtime.LockOSThread()
	err := errors.New("forbid by what?")
	switch how {
	case "filter":
		err = forbidByFilter()
	case "few": // one is allowed, and taken
		holder := exec.Command("/usr/bin/sleep", "30")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL}
		if err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("1"), 0); err == nil {
			err = holder.Start()
		}
	case "limit":
		err = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}
	os.Unsetenv(forbidEnv)
	if err == nil {
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, how, err)
	os.Exit(1)
}

// forbidByFilter refuses clone and unshare with CLONE_NEWUSER to this thread and
// all that it becomes.
func forbidByFilter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	arch, _ := archOf(runtime.GOARCH)
	node := allow
	for _, call := range []string{"clone", "unshare"} {
		nr, _ := callNumber(arch, call)
		node = whenEqual(filterWord{dataNr, allBits}, nr, whenAny(low(0), unix.CLONE_NEWUSER, errnoNode(linuxEPERM), allow), node)
	}
	clone3, _ := callNumber(arch, "clone3")
	node = whenEqual(filterWord{dataNr, allBits}, clone3, errnoNode(linuxENOSYS), node)
	prog, err := assembleFilter(node)
	if err != nil {
		return err
	}
	_, err = applySeccomp(filterRecords(prog), 0)
	return err
}

// needsBare skips a test where there are user namespaces.
func needsBare(t testing.TB) {
	t.Helper()
	if f := probeUserNamespaces(); f.Answer != No {
		t.Skipf("user namespaces: %v, see TestWithoutNamespaces", f.Answer)
	}
	needs(t, "landlock", "seccomp")
	if err := makePlace(); err != nil {
		t.Fatal(err)
	}
}

// allGaps waives what a jail without namespaces cannot hold.
var allGaps = Launcher{Waive: []policy.Axis{policy.AxisFs, policy.AxisProcess, policy.AxisLimits}}

// TestWithoutNamespaces runs the others where namespaces are forbidden: as root and
// as somebody else, by a filter and by a setting.
func TestWithoutNamespaces(t *testing.T) {
	needsJail(t)
	if os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		t.Skip("this is such a run")
	}
	type way struct{ name, how, role string }
	ways := []way{{"by a filter", "filter", ""}}
	if os.Getuid() == 0 {
		// In its user namespace root is mapped alone: the files of others are nobody's.
		ways = append(ways, way{"by a filter, as an ordinary user", "filter", dropName}, way{"by a setting", "limit", "unshare"})
	}
	for i, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			home := filepath.Join(filepath.Dir(testBinary), fmt.Sprint("bare-", i))
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(testBinary, "-test.run=^TestBare", "-test.v", "-test.timeout=5m")
			switch w.role {
			case dropName:
				if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
					t.Fatal(err)
				}
				cmd.Args = append([]string{dropName}, cmd.Args...)
			case "unshare":
				cmd = exec.Command("unshare", append([]string{"--user", "--map-root-user"}, cmd.Args...)...)
			}
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+testBinary, "TMPDIR="+home, "HOME="+home, "XDG_STATE_HOME="+home, forbidEnv+"="+w.how)
			out, err := cmd.CombinedOutput()
			passed := strings.Count(string(out), "\n--- PASS: TestBare") // each on a line of its own
			if err != nil || passed == 0 || strings.Contains(string(out), "--- SKIP: TestBare") {
				t.Errorf("%v, %d passed\n%s", err, passed, out)
			}
			t.Logf("%d tests\n%s", passed, out) // where they are looked for when they were skipped
		})
	}
}

// TestShortageIsNoProhibition: whoever waives everything still gets no weaker jail
// because of something that may be over at the next start.
func TestShortageIsNoProhibition(t *testing.T) {
	needsJail(t)
	for _, errno := range []syscall.Errno{unix.EAGAIN, unix.ENOMEM, unix.EPERM, unix.ENOSPC, unix.EACCES} {
		for _, step := range []string{stepNamespaces, "private mounts", StepExec} {
			in := &StartError{Step: step, Errno: errno}
			if f, err := refusal(in); f.Answer == No || err != in {
				t.Errorf("%s, %v: %+v, %v", step, errno, f, err)
			}
		}
	}
	if os.Getuid() != 0 || os.Getenv("MCPJAIL_TEST_BINARY") != "" {
		return
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", testBinary, "-test.run=^TestFewNamespaces$", "-test.v")
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+testBinary, forbidEnv+"=few", fewEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestFewNamespaces") {
		t.Errorf("%v\n%s", err, out)
	}
}

const fewEnv = "MCPJAIL_TEST_FEW"

func TestFewNamespaces(t *testing.T) {
	if os.Getenv(fewEnv) == "" {
		return // started by TestShortageIsNoProhibition
	}
	_, err := Launcher{Waive: policy.Axes()}.Start(t.Context(), jailProfile(t), Stdio{})
	var gaps *GapError
	if !errors.As(err, &gaps) || len(gaps.Gaps) != 1 || !gaps.Gaps[0].Fatal || gaps.Bare.Answer == No || !strings.Contains(err.Error(), "too many user namespaces") {
		t.Errorf("%#v: %v", err, err)
	}
}

// TestBareIsRefused: every gap is one of an axis that can be waived, and without waiving
// nothing starts.
func TestBareIsRefused(t *testing.T) {
	needsBare(t)
	p := jailProfile(t)
	_, err := Launcher{}.Start(t.Context(), p, Stdio{})
	var gaps *GapError
	if !errors.As(err, &gaps) || gaps.Bare.Answer != No || gaps.Bare.Detail == "" || gaps.Bare.Fix == "" {
		t.Fatalf("%#v", err)
	}
	axes := gaps.Waive
	if len(axes) == 0 || !strings.Contains(err.Error(), WaiveLine(axes)) || !strings.Contains(err.Error(), gaps.Bare.Detail) {
		t.Errorf("%v\n%v", axes, err)
	}
	for i := range axes { // each of them is needed
		some := slices.Delete(slices.Clone(axes), i, i+1)
		if _, err := (Launcher{Waive: some}).Start(t.Context(), p, Stdio{}); !errors.Is(err, ErrGaps) {
			t.Errorf("without waiving %s: %v", axes[i], err)
		}
	}
	proc, err := Launcher{Waive: axes}.Start(t.Context(), p, Stdio{})
	if err != nil {
		t.Fatal(err)
	}
	proc.Wait()
	if plan := proc.Plan(); plan.Bare.Answer != No {
		t.Errorf("%+v", plan.Bare)
	}
	if plan, err := (Launcher{}).Compile(p); !errors.As(err, &gaps) || plan.Bare.Answer != No {
		t.Errorf("Compile says otherwise: %v, %v", plan.Bare, err)
	}
}

// TestBareLeavesNothingOpen: a launcher that starts one jail after the other has as
// many descriptors as before.
func TestBareLeavesNothingOpen(t *testing.T) {
	needsBare(t)
	p := jailProfile(t)
	inBare(t, p, try("cwd")) // what is made once
	before := descriptorsOpen(t)
	for range 5 {
		inBare(t, p, try("cwd"))
	}
	eventually(t, "no descriptor more than before", func() bool { return descriptorsOpen(t) <= before })
}

func inBare(t testing.TB, p *policy.Profile, attempts ...attempt) []outcome {
	t.Helper()
	out, err := runJail(t, allGaps, p, attempts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return out
}

// TestBareWalls are the attempts on what is not a file of the profile.
func TestBareWalls(t *testing.T) {
	needsBare(t)
	dir := plant(t, "place/")
	sockets, err := os.MkdirTemp("/var/tmp", "s") // an address has room for 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	accept(t, "unix", sockets+"/host")
	plantInto(t, sockets+"/file")
	self := fmt.Sprint(os.Getpid())
	abstract := "@mcp-jail-bare-" + self + "-" + fmt.Sprint(time.Now().UnixNano())
	accept(t, "unix", abstract)
	tcp := accept(t, "tcp", "127.0.0.1:0")
	key := 0x6d640000 + os.Getpid()
	shm, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.SysvShmCtl(shm, unix.IPC_RMID, nil) })
	signals := "EPERM"
	if hostFacts().LandlockABI < 6 {
		signals = "ok"
	}
	const any = ""
	for _, c := range []struct{ attempt, control, want string }{
		// Processes: their numbers show, and nothing can be done to them.
		{"kill " + self, "ok", signals},
		{"open /proc/" + self + "/environ", "ok", "EACCES"},
		{"open /proc/" + self + "/cmdline", "ok", "EACCES"},
		{"open /proc/" + self + "/mem", "ok", "EACCES"},
		{"open /proc/" + self + "/root/", "ok", "EACCES"},
		{"open /proc/" + self + "/cwd/", "ok", "EACCES"},
		{"open /proc/" + self + "/fd/0", "ok", "EACCES"},
		{"list /proc", "ok", "EACCES"},
		{"open /proc/self/environ", "ok", "EACCES"},
		{"open /proc/meminfo", "ok", "ok"},
		{"priority " + self, "ok", "EPERM"},
		{"affinity " + self, "ok", "EPERM"},
		{"rlimit " + self, "ok", "EPERM"},
		{"ptrace", "ok", "EPERM"},
		{"readmem", "ok", "EPERM"},
		// Sockets, queues and memory.
		{"dial unix " + sockets + "/host", "ok", "EAFNOSUPPORT"},
		{"dial unix " + abstract, "ok", "EAFNOSUPPORT"},
		{"dial tcp " + tcp, "ok", "EAFNOSUPPORT"},
		{"dial udp 127.0.0.1:9", "ok", "EAFNOSUPPORT"},
		{"loopback", "ok", "EAFNOSUPPORT"},
		{"socketpair", "ok", "ok"},
		{fmt.Sprint("shmget ", key), "ok", "EPERM"},
		{"mqopen none-such", "ENOENT", "EPERM"},
		{fmt.Sprint("socket ", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE), "ok", "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_PACKET, unix.SOCK_RAW, 0), any, "EAFNOSUPPORT"},
		{fmt.Sprint("socket ", unix.AF_VSOCK, unix.SOCK_STREAM, 0), any, "EAFNOSUPPORT"},
		// The kernel.
		{"userns", any, "EPERM"},
		{fmt.Sprint("unshare ", unix.CLONE_NEWNS), any, "EPERM"},
		{"setns /proc/self/ns/uts", any, "EPERM"},
		{"chroot " + dir, any, "EPERM"},
		{"fsopen tmpfs", any, "EPERM"},
		{"mount " + dir + "/place", any, "EPERM"},
		{"pivot /tmp", any, "EPERM"},
		{"keyring", any, "EPERM"},
		{"personality", any, "EPERM"},
		{"handle " + dir, any, "EPERM"},
		{"write /proc/sys/kernel/core_pattern", any, "EACCES"},
		// Files that are the host's here.
		{"list /", "ok", "EACCES"},
		{"list /tmp", "ok", "EACCES"},
		{"create /tmp/mcp-jail-bare-" + self, "ok", "EACCES"},
		{"create /dev/shm/mcp-jail-bare-" + self, "ok", "EACCES"},
		{"open /etc/hostname", "ok", "EACCES"},
		{"list /dev/pts", "ok", "EACCES"},
		{"open /dev/ptmx", "ok", "EACCES"},
		{"empty " + sockets + "/file", "ok", "EPERM"},
		{"write /dev/null", "ok", "ok"},
		{"open /dev/urandom", "ok", "ok"},
		// What does not hold, and the plan says so: names can be guessed.
		{"stat /etc/hostname", "ok", "ok"},
		{"stat /proc/" + self, "ok", "ok"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			a := attempt(strings.Fields(c.attempt))
			if c.control != any {
				got, _, _ := strings.Cut(unconfined(t, dir, a)[0], " ")
				if a[0] == "create" {
					os.Remove(a[1])
				}
				expect(t, "unconfined", got, c.control)
			}
			expect(t, "in the jail", inBare(t, jailProfile(t, grant{dir, rw}), a)[0], c.want)
		})
	}
}

// TestBareRights: what Landlock alone makes of the five rights, each missing once.
func TestBareRights(t *testing.T) {
	needsBare(t)
	tries := map[policy.Rights][]attempt{
		policy.Read:    {try("read", "file"), try("list", ".")},
		policy.Create:  {try("mkfile", "new"), try("mkdir", "new"), try("symlink", "new"), try("mkfifo", "new")},
		policy.Update:  {try("write", "file"), try("rewrite", "file"), try("truncate", "file")},
		policy.Delete:  {try("unlink", "file"), try("rmdir", "empty")},
		policy.Execute: {try("execs", "file")},
	}
	for right, list := range tries {
		for _, a := range list {
			t.Run(fmt.Sprint(right, " ", a), func(t *testing.T) {
				t.Parallel()
				for _, rights := range []policy.Rights{policy.AllRights, policy.AllRights &^ right} {
					dir := plant(t, "file", "empty/")
					p := jailProfile(t, grant{dir, rights | policy.Execute})
					if right == policy.Execute {
						p = jailProfile(t, grant{dir, rights})
					}
					b := slices.Clone(a)
					b[1] = filepath.Join(dir, a[1])
					want := "EACCES"
					if rights == policy.AllRights {
						want = "ok"
					}
					got, _, _ := strings.Cut(inBare(t, p, b)[0], " ")
					expect(t, rights.String(), got, want)
				}
			})
		}
	}
}

func TestBareState(t *testing.T) {
	needsBare(t)
	const none = "0000000000000000"
	p := jailProfile(t)
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"}, policy.Variable{Name: policy.StatementVar, Value: string(p.Statement())})
	got := inBare(t, p, try("capabilities"), try("fds"), try("cwd"), try("tmp"), try("statement"))
	if got[0] != "ok "+none+" "+none+" "+none || got[1] != "ok 0 1 2" || got[2] != "ok /" {
		t.Errorf("%v", got)
	}
	tmp, ok := strings.CutPrefix(got[3], "ok ")
	if _, err := os.Lstat(tmp); !ok || !errors.Is(err, os.ErrNotExist) || !strings.Contains(tmp, "/mcp-jail-") {
		t.Errorf("TMPDIR %q: %v", tmp, err)
	}
	expect(t, "what the server is told", got[4], "ok "+tmp)
}

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
			eventually(t, "both daemons run", func() bool {
				s.errs.mu.Lock()
				defer s.errs.mu.Unlock()
				return strings.Count(s.errs.text, "daemon") == 2
			})
			end(s)
			s.finish()
			s.gone()
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
		s.gone()
	})
}

// gone checks that nothing is left of a jail: no process that has its TMPDIR in
// its environment, no directory.
func (s *started) gone() {
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

// TestBareLauncherIsKilled: SIGKILL of the launcher at any moment leaves neither a
// process nor a directory.
func TestBareLauncherIsKilled(t *testing.T) {
	needsBare(t)
	tmp := t.TempDir()
	p := jailProfile(t, grant{tmp, rw})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	p.Waive = allGaps.Waive
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("daemon", "2"), try("tmp"), try("wait")})...)
	var order bytes.Buffer
	if err := gob.NewEncoder(&order).Encode([]*policy.Profile{p, p}); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 7))
	for i := range 40 {
		pipe := newWitness(t)
		cmd := exec.Command(testBinary)
		cmd.Args = []string{launcherName}
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		cmd.Stdin = bytes.NewReader(order.Bytes())
		cmd.ExtraFiles = []*os.File{pipe.w}
		out := newLines()
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(60_000)) * time.Microsecond)
		if i == 0 { // once with everything up for certain
			eventually(t, "all jails up", func() bool { return out.count("up\n") == 2 })
		}
		cmd.Process.Kill()
		cmd.Wait()
		if n := out.count("up\n"); i == 0 && n != 2 {
			t.Fatalf("the control: %d of 2 jails were up: %s", n, out.text)
		}
		pipe.gone(t)
		eventually(t, "no directory in "+tmp, func() bool {
			left, _ := os.ReadDir(tmp)
			return len(left) == 0
		})
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
	if exit != (Exit{Code: 137, Signal: syscall.SIGKILL}) {
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

// TestBareTrees: what a server may make in its private places does not come into a
// grant by being moved there.
func TestBareTrees(t *testing.T) {
	needsBare(t)
	dir := plant(t, "home/repo/.git/config", "home/repo/src/x", "home/plain/src/x", "work/f", "work/d/")
	p := jailProfile(t, grant{dir + "/work", rw}, grant{dir + "/home", rw})
	for i := range p.Entries {
		if p.Entries[i].Path == dir+"/home" {
			p.Entries[i].Origin = policy.OriginHome
		}
	}
	got := inBare(t, p, try("rename", dir+"/home/repo", dir+"/work/repo"), try("exchange", dir+"/home/repo", dir+"/work/d"),
		try("exchange", dir+"/work/d", dir+"/home/repo"), try("create", dir+"/home/.envrc"), try("rename", dir+"/home/plain", dir+"/work/plain"))
	want := []outcome{"EACCES", "EACCES", "EACCES", "ok", "ok"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestBareSwappedObjects: what was resolved is what is granted, or nothing starts.
func TestBareSwappedObjects(t *testing.T) {
	needsBare(t)
	for name, swap := range map[string]func(dir string) error{
		"a symlink for the directory": func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Symlink(dir+"/secret", dir+"/grant"))
		},
		"another directory": func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Mkdir(dir+"/grant", 0o755))
		},
		"nothing": func(dir string) error { return os.Rename(dir+"/grant", dir+"/old") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, "grant/inner", "secret/inner")
			p := jailProfile(t, grant{dir + "/grant", rw})
			expect(t, "before", inBare(t, p, try("read", dir+"/grant/inner"))[0], "ok inner")
			if err := swap(dir); err != nil {
				t.Fatal(err)
			}
			_, err := allGaps.Start(t.Context(), p, Stdio{})
			var se *StartError
			if !errors.As(err, &se) || se.Step != "landlock rules" || !strings.Contains(se.Detail, dir) {
				t.Errorf("%#v, want a StartError that names the path", err)
			}
		})
	}
}

// bareTree is what the tests of carve-outs try their luck on.
var bareTree = []string{
	"work/file", "work/.env", "work/.git/hooks/pre-commit", "work/.git/config", "work/private/deep/file", "work/private/out", "work/sub/file", "outside",
	"work/link -> .env", "work/out -> ../outside",
}

func bareProfile(t *testing.T, dir string) *policy.Profile {
	return jailProfile(t, grant{dir + "/work", rw}, grant{dir + "/work/.env", 0}, grant{dir + "/work/private", 0},
		grant{dir + "/work/.git/hooks", r}, grant{dir + "/work/.git/config", r})
}

// TestBareCarveOuts: what a narrower entry takes away is refused by the supervisor,
// each with the control that it succeeds with nothing around it.
func TestBareCarveOuts(t *testing.T) {
	needsBare(t)
	const eacces, ebusy, exdev = "EACCES", "EBUSY", "EXDEV"
	for _, c := range []struct {
		attempt string
		want    outcome
	}{
		// Reading, by every way to it.
		{"read work/.env", eacces},
		{"read work/link", eacces},
		{"read work/private/deep/file", eacces},
		{"list work/private", eacces},
		{"chdir-list work/private", eacces},
		{"chdir-read work/private/deep", eacces},
		{"read work/out", eacces},
		{"path-read work/.env", eacces},
		{"path-reopen work/.env", eacces},
		{"link work/.env work/x", exdev},
		{"link work/link work/x", "ok"}, // a second name of the link itself
		{"rename work/.env work/x", ebusy},
		{"rename work/private work/x", ebusy},
		{"rename work/private/out work/x", eacces},
		{"exchange work/.env work/file", ebusy},
		{"unlink work/.env", ebusy},
		{"write work/.env", eacces},
		// Writing.
		{"write work/.git/hooks/pre-commit", eacces},
		{"rewrite work/.git/hooks/pre-commit", eacces},
		{"truncate work/.git/hooks/pre-commit", eacces},
		{"create work/.git/hooks/new", eacces},
		{"unlink work/.git/hooks/pre-commit", eacces},
		{"rename work/file work/.git/hooks/new", eacces},
		{"link work/.git/hooks/pre-commit work/x", exdev},
		{"rename work/.git work/x", ebusy},
		{"rename work/file work/.git/config", ebusy},
		{"create work/.envrc", eacces},
		{"create work/sub/.mcp.json", eacces},
		// Modes, owners, times.
		{"chmod outside", eacces},
		{"chmod-fd work/.git/hooks/pre-commit", eacces},
		{"chmod work/.git/hooks/pre-commit", eacces},
		{"chmod work/.git/hooks", eacces},
		{"chmod work/.env", eacces},
		{"utimes outside", eacces},
		{"utimes work/out", eacces},
		{"utimes-fd work/.git/config", eacces},
		{"chown outside", eacces},
		{"lchown work/.env", eacces},
		{"xattr work/file", "ENOTSUP"},
		{"xattr outside", "ENOTSUP"},
		{"set-flags work/.git/config", "EPERM"},
		// And what is granted.
		{"read work/file", "ok"},
		{"read work/.git/hooks/pre-commit", "ok"},
		{"list work", "ok"},
		{"list work/.git/hooks", "ok"},
		{"chdir-list work/sub", "ok"},
		{"path-reopen work/file", "ok"},
		{"write work/file", "ok"},
		{"rename work/file work/sub/new", "ok"},
		{"link work/file work/sub/new", "ok"},
		{"chmod work/file", "ok"},
		{"chmod work", "ok"},
		{"chmod work/.git", "ok"},
		{"chmod-fd work/file", "ok"},
		{"utimes work/file", "ok"},
		{"utimes-fd work/file", "ok"},
		{"utime work/file", "ok"},
		{"lutimes work/link", "ok"},
		{"chown work/file", "ok"},
		{"lchown work/link", "ok"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			for _, jail := range []bool{false, true} {
				dir := plant(t, bareTree...)
				a := attempt(strings.Fields(c.attempt))
				for i := range a[1:] {
					a[i+1] = filepath.Join(dir, a[i+1])
				}
				if !jail {
					got, _, _ := strings.Cut(unconfined(t, dir, a)[0], " ")
					if want := "ok"; got != want && a[0] != "xattr" && a[0] != "set-flags" && !strings.HasPrefix(c.attempt, "rename work/file work/.git/config") {
						t.Errorf("unconfined: %s", got)
					}
					continue
				}
				before := hostTree(t, dir)
				got, _, _ := strings.Cut(inBare(t, bareProfile(t, dir), a)[0], " ")
				expect(t, "in the jail", got, c.want)
				if after := hostTree(t, dir); c.want != "ok" && after != before {
					t.Errorf("it was refused, and changed\n%s\nto\n%s", before, after)
				}
			}
		})
	}
}

func TestBareDevices(t *testing.T) {
	needsBare(t)
	if got := inBare(t, jailProfile(t), deviceAttempts...); fmt.Sprint(got) != "[ok EACCES]" {
		t.Errorf("in the jail: %v", got)
	}
}

// TestBareInitIsNotSignalled: neither the init as a whole, nor the one thread of it
// that is in the server's Landlock domain.
func TestBareInitIsNotSignalled(t *testing.T) {
	needsBare(t)
	if hostFacts().LandlockABI < 6 {
		t.Skip("Landlock knows no signals here, and the plan says so")
	}
	if got := inBare(t, jailProfile(t), try("signal-init"))[0]; got != "EPERM" {
		t.Errorf("in the jail: %s", got)
	}
}

// TestBareGaps: what the plan says does not hold does not hold indeed, with and
// without a supervisor, and with one there are no other gaps.
func TestBareGaps(t *testing.T) {
	needsBare(t)
	dir := plant(t, bareTree...)
	p := bareProfile(t, dir)
	p.Limits = policy.Limits{Processes: 100}
	f := hostFacts().with(namespaces())
	unsupervised := f
	unsupervised.SeccompNotify = no("it is missing", "have it")
	for _, c := range []struct {
		facts   facts
		attempt attempt
		want    outcome
		what    string // of the gap
	}{
		{f, try("stat", dir+"/outside"), "ok", "what is not granted is hidden"},
		{unsupervised, try("read", dir+"/work/.env"), "ok .env", "hidden inside a wider grant: " + dir + "/work/.env, " + dir + "/work/private"},
		{unsupervised, try("write", dir+"/work/.git/hooks/pre-commit"), "ok", "less than around them: " + dir + "/work/.git/config (no update), " + dir + "/work/.git/hooks (no write)"},
		{unsupervised, try("chmod", dir+"/outside"), "ok", "modes, owners, times"},
		{unsupervised, try("create", dir+"/work/.envrc"), "ok", "protected names that do not exist yet"},
	} {
		plan := compile(p, c.facts)
		if !slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.Axis == policy.AxisFs && !g.Fatal && strings.Contains(g.What, c.what) }) {
			t.Errorf("the plan does not say %q: %+v", c.what, plan.Gaps)
		}
		q := *p
		q.Argv = append(slices.Clone(p.Argv), probeArgs(t, []attempt{c.attempt})...)
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		proc, err := Launcher{}.spawnBare().start(t.Context(), compile(&q, c.facts), Stdio{Out: w})
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		report, _ := io.ReadAll(out)
		out.Close()
		proc.Wait()
		expect(t, c.attempt.String(), outcomes(t, []attempt{c.attempt}, report, "")[0], c.want)
	}
	var whats []string
	for _, g := range compile(p, f).Gaps {
		whats = append(whats, string(g.Axis)+" "+g.What)
	}
	want := "[fs what is not granted is hidden process no process survives limits processes = 100]"
	if f.LandlockABI < 6 {
		want = "[fs what is not granted is hidden process no signal to your other processes, and no process survives limits processes = 100]"
	}
	if fmt.Sprint(whats) != want {
		t.Errorf("%v", whats)
	}
}

// TestBareStandsNowhere: the supervisor does not stay in a directory that it changed
// something in, which the host could not unmount then.
func TestBareStandsNowhere(t *testing.T) {
	needsBare(t)
	dir := plant(t, "place/")
	s := beginWith(t, allGaps, jailProfile(t, grant{dir, rw}), try("mkdir", dir+"/place/new"), try("wait"))
	eventually(t, "the directory that is made", func() bool { return exists(&place{dir: unix.AT_FDCWD, name: dir + "/place/new"}) })
	eventually(t, "no thread of the init in it", func() bool {
		stand, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/cwd", s.PID()))
		if err != nil || len(stand) == 0 {
			t.Fatal(stand, err)
		}
		return !slices.ContainsFunc(stand, func(link string) bool {
			at, err := os.Readlink(link)
			return err == nil && policy.Within(at, dir)
		})
	})
	s.Kill()
	s.finish()
}

// TestBareFill: with create and without update a file is made and filled, and not
// written again; TMPDIR is no such place.
func TestBareFill(t *testing.T) {
	needsBare(t)
	dir := plant(t, "drop/old")
	p := jailProfile(t, grant{dir + "/drop", r | policy.Create})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	got := inBare(t, p, try("fill", dir+"/drop/new", "1"), try("write", dir+"/drop/new"), try("write", dir+"/drop/old"), try("unlink", dir+"/drop/old"), try("tmp"))
	got[4], _, _ = strings.Cut(got[4], " ")
	if fmt.Sprint(got) != "[ok EACCES EACCES EACCES ok]" {
		t.Errorf("%v", got)
	}
}

// TestBareDenials: what the supervisor refuses is recorded, with its path.
func TestBareDenials(t *testing.T) {
	needsBare(t)
	dir := plant(t, bareTree...)
	s := beginWith(t, allGaps, bareProfile(t, dir), try("read", dir+"/work/.env"), try("chmod", dir+"/work/.git/config"))
	s.finish()
	for _, target := range []string{"/work/.env", "/work/.git/config"} {
		if !slices.ContainsFunc(s.Denials(), func(d Denial) bool { return d.Axis == policy.AxisFs && d.Target == dir+target }) {
			t.Errorf("nothing of %s: %+v", target, s.Denials())
		}
	}
}

// TestBareOlderLandlock starts jails that are compiled for every level of Landlock
// that this kernel includes, with a supervisor and without: what the level lacks is
// held otherwise, or a gap.
func TestBareOlderLandlock(t *testing.T) {
	needsBare(t)
	newest := hostFacts().LandlockABI
	for abi := 1; abi <= newest; abi++ {
		for _, supervised := range []bool{true, false} {
			t.Run(fmt.Sprintf("ABI %d, supervised %v", abi, supervised), func(t *testing.T) {
				f := hostFacts().with(namespaces())
				f.LandlockABI = abi
				if !supervised {
					f.SeccompNotify = no("it is missing", "have it")
				}
				dir := plant(t, bareTree...)
				p := bareProfile(t, dir)
				tries := []attempt{
					try("read", dir+"/work/file"), try("write", dir+"/work/file"), try("read", dir+"/outside"), try("write", dir+"/outside"),
					try("truncate", dir+"/outside"), try("open-truncate", dir+"/outside"), try("list", "/"), try("socket", "2", "1", "0"),
					try("daemon", "2"), try("daemon", "0s"),
				}
				p.Argv = append(p.Argv, probeArgs(t, tries)...)
				pipe := newWitness(t)
				out, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				proc, err := Launcher{}.spawnBare().start(t.Context(), compile(p, f), Stdio{Out: w, Err: pipe.w})
				w.Close()
				if err != nil {
					t.Fatal(err)
				}
				report, _ := io.ReadAll(out)
				out.Close()
				proc.Wait()
				pipe.gone(t) // and with them whoever has detached himself
				truncate := "EACCES"
				if abi < 3 && !supervised {
					truncate = "EPERM" // by the filter
				}
				got := outcomes(t, tries, report, "")
				want := []outcome{"ok file", "ok", "EACCES", "EACCES", truncate, truncate, "EACCES", "EAFNOSUPPORT", "ok", "ok"}
				for i := range want {
					expect(t, tries[i].String(), got[i], want[i])
				}
				if b, err := os.ReadFile(dir + "/outside"); string(b) != "outside" {
					t.Errorf("outside: %q, %v", b, err)
				}
			})
		}
	}
}

// TestBareMemory: the sampler looks at the descendants of the init, and at nobody else.
func TestBareMemory(t *testing.T) {
	needsBare(t)
	p := jailProfile(t)
	p.Limits = policy.Limits{MemoryMB: 64}
	for _, what := range []attempt{try("allocate", "200"), try("allocate-two", "60")} {
		s := beginWith(t, allGaps, p, what)
		s.finish()
		if d := s.Denials(); len(d) == 0 || d[0].Axis != policy.AxisLimits || d[0].Operation != "memory" {
			t.Errorf("%v: denials %+v", what, d)
		}
	}
}

func TestBareProcesses(t *testing.T) {
	needsBare(t)
	if os.Getuid() == 0 {
		return // exempt, and the plan says so
	}
	p := jailProfile(t)
	p.Limits = policy.Limits{Processes: 60}
	got := inBare(t, p, try("fork", "600"))[0]
	n, why, _ := strings.Cut(strings.TrimPrefix(got, "ok "), " ")
	if count, err := strconv.Atoi(n); err != nil || why != "EAGAIN" || count > 300 {
		t.Errorf("%s", got)
	}
}

// TestBareHundreds: eight at a time, each looks from inside whether it holds.
func TestBareHundreds(t *testing.T) {
	needsBare(t)
	secret := plant(t, "secret") + "/secret"
	p := jailProfile(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				got := inBare(t, p, try("read", secret), try("list", "/"), try("socket", "2", "1", "0"), try("userns"), try("capabilities"))
				const none = "0000000000000000"
				if fmt.Sprint(got) != "[EACCES EACCES EAFNOSUPPORT EPERM ok "+none+" "+none+" "+none+"]" {
					t.Errorf("%v", got)
				}
			}
		})
	}
	wg.Wait()
}
