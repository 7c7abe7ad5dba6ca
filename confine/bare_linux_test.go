package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"

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
	_, err = applySeccomp(&stub.Task{}, filterRecords(prog), 0)
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

func inBare(t testing.TB, p *policy.Profile, attempts ...attempt) []outcome {
	t.Helper()
	out, err := runJail(t, allGaps, p, attempts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return out
}

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
