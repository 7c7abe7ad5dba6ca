package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel tests start real jails. The program in them is this test binary
// again, under another argv[0]: it makes the attempts that it is given and
// reports one outcome for each (probe_linux_test.go).

const (
	probeName = "mcp-jail-probe" // attempts, in a jail or outside of one
	dropName  = "mcp-jail-drop"  // becomes an ordinary user, then the rest of argv
)

// testBinary is a copy of the test binary where every user can reach it.
var testBinary string

// ordinaryUser is who the tests become a second time when they run as root.
const ordinaryUser = 61234

func TestMain(m *testing.M) {
	faultShim()
	runMain(m, map[string]func(args []string){
		launcherName: func([]string) { runLauncher() },
		foldProgram:  runFold,
		worldName:    runWorld,
		internetName: func(args []string) { runInternet(args[0]) },
	})
}

// runMain runs the tests of this binary, or the program that argv[0] names: the attacker,
// or one of programs.
func runMain(m *testing.M, programs map[string]func(args []string)) {
	ShimMain()
	programs[probeName], programs[dropName] = runProbe, runDrop
	if run := programs[os.Args[0]]; run != nil {
		run(os.Args[1:])
	}
	if how := os.Getenv(forbidEnv); how != "" {
		runForbid(how)
	}
	os.Exit(runTests(m))
}

// testPlace is the tests' own place outside of /tmp, which is the jail's own in
// every jail.
var testPlace = fmt.Sprint("/var/tmp/mcp-jail-test-", os.Getpid())

// runTests removes the place again. It is made by the first test that needs one:
// this binary is started many times over by tests that need none.
func runTests(m *testing.M) int {
	if testBinary = os.Getenv("MCPJAIL_TEST_BINARY"); testBinary != "" {
		return m.Run() // a second run: the place is there
	}
	os.Setenv("XDG_STATE_HOME", testPlace) // private homes
	defer os.RemoveAll(testPlace)
	return m.Run()
}

var makePlace = sync.OnceValue(func() error {
	if testBinary != "" {
		return nil
	}
	if err := os.Mkdir(testPlace, 0o755); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	testBinary = filepath.Join(testPlace, "probe")
	if err := os.WriteFile(testBinary, self, 0o755); err != nil {
		return err
	}
	os.Setenv("TMPDIR", testPlace)
	return errors.Join(os.Chmod(testPlace, 0o755), os.Chmod(testBinary, 0o755)) // whatever the umask
})

// needsJail skips where this host cannot build a jail at all.
func needsJail(t testing.TB) {
	t.Helper()
	needs(t, "userns", "landlock", "seccomp", "mount_api")
	if err := makePlace(); err != nil {
		t.Fatal(err)
	}
}

// runDrop becomes an ordinary user for good, without a group or a capability
// that could come back, and executes the rest.
func runDrop(argv []string) {
	runtime.LockOSThread() // the bounding set belongs to the thread that executes
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(suiteNetEnv) != "" {
		if err := makeTestNetwork(); err != nil {
			fail(err)
		}
	}
	if err := syscall.Setgroups(nil); err != nil {
		fail(err)
	}
	if err := syscall.Setresgid(ordinaryUser, ordinaryUser, ordinaryUser); err != nil {
		fail(err)
	}
	if err := syscall.Setresuid(ordinaryUser, ordinaryUser, ordinaryUser); err != nil {
		fail(err)
	}
	fail(syscall.Exec(argv[0], argv, os.Environ()))
}

// TestOrdinaryUser runs all kernel tests again as somebody who is not root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	needsJail(t)
	home := filepath.Join(filepath.Dir(testBinary), "user")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testBinary, testBinary, "-test.run=^TestJail", "-test.timeout=5m")
	cmd.Args[0] = dropName
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+testBinary, "TMPDIR="+home, "HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	} else {
		t.Logf("as user %d: %s", ordinaryUser, out)
	}
}
