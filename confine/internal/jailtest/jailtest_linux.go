package jailtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe/probetest"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"golang.org/x/sys/unix"
)

// testBinary is a copy of the test binary where every user can reach it.
var TestBinary string

// ordinaryUser is who the tests become a second time when they run as root.
const OrdinaryUser = 61234

// runMain runs the tests of this binary, or the program that argv[0] names: the attacker,
// or one of programs.
func RunMain(m *testing.M, programs map[string]func(args []string)) {
	supervisor.ShimMain()
	programs[attacker.ProbeName], programs[attacker.DropName] = attacker.RunProbe, RunDrop
	if run := programs[os.Args[0]]; run != nil {
		run(os.Args[1:])
	}
	if how := os.Getenv(ForbidEnv); how != "" {
		runForbid(how)
	}
	os.Exit(runTests(m))
}

// testPlace is the tests' own place outside of /tmp, which is the jail's own in
// every jail.
var TestPlace = fmt.Sprint("/var/tmp/mcp-jail-test-", os.Getpid())

// runTests removes the place again. It is made by the first test that needs one:
// this binary is started many times over by tests that need none.
func runTests(m *testing.M) int {
	if TestBinary = os.Getenv("MCPJAIL_TEST_BINARY"); TestBinary != "" {
		return m.Run() // a second run: the place is there
	}
	os.Setenv("XDG_STATE_HOME", TestPlace) // private homes
	defer os.RemoveAll(TestPlace)
	return m.Run()
}

var MakePlace = sync.OnceValue(func() error {
	if TestBinary != "" {
		return nil
	}
	if err := os.Mkdir(TestPlace, 0o755); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	TestBinary = filepath.Join(TestPlace, "probe")
	if err := os.WriteFile(TestBinary, self, 0o755); err != nil {
		return err
	}
	os.Setenv("TMPDIR", TestPlace)
	return errors.Join(os.Chmod(TestPlace, 0o755), os.Chmod(TestBinary, 0o755)) // whatever the umask
})

// needsJail skips where this host cannot build a jail at all.
func NeedsJail(t testing.TB) {
	t.Helper()
	probetest.Needs(t, "userns", "landlock", "seccomp", "mount_api")
	if err := MakePlace(); err != nil {
		t.Fatal(err)
	}
}

// runDrop becomes an ordinary user for good, without a group or a capability
// that could come back, and executes the rest.
func RunDrop(argv []string) {
	runtime.LockOSThread() // the bounding set belongs to the thread that executes
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(SuiteNetEnv) != "" {
		if err := MakeTestNetwork(); err != nil {
			fail(err)
		}
	}
	if err := syscall.Setgroups(nil); err != nil {
		fail(err)
	}
	if err := syscall.Setresgid(OrdinaryUser, OrdinaryUser, OrdinaryUser); err != nil {
		fail(err)
	}
	if err := syscall.Setresuid(OrdinaryUser, OrdinaryUser, OrdinaryUser); err != nil {
		fail(err)
	}
	fail(syscall.Exec(argv[0], argv, os.Environ()))
}
