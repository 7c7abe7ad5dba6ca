package jailtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// Binary is the path of a copy of the test binary that every user can execute. MakeDir makes
// it.
var Binary string

// OrdinaryUser is the user ID under which tests of root run some tests again.
const OrdinaryUser = 61234

// Main runs the tests of this binary. If argv[0] names the attacker or one of programs, it runs
// that instead.
func Main(m *testing.M, programs map[string]func(args []string)) {
	confine.RunSupervisor()
	programs[attacker.Name], programs[attacker.AsUserName] = attacker.Run, RunAsUser
	if run := programs[os.Args[0]]; run != nil {
		run(os.Args[1:])
	}
	if how := os.Getenv(ForbidEnv); how != "" {
		runForbid(how)
	}
	os.Exit(runTests(m))
}

// Dir is the directory of this run. It is outside /tmp, since /tmp in a jail is the jail's
// own. In a PID namespace, the number of the process is not enough. Package crypto/rand must not be
// used here: its first use sets a timer, and so the poller up, before a supervisor has tested that. The
// path is short: a socket's may have 107 bytes.
var Dir = fmt.Sprint(testkit.VarTmp(), "/mcp-jail-test-", os.Getpid(), "-", strconv.FormatInt(time.Now().UnixNano()%(36*36*36), 36))

// runTests runs the tests and removes Dir. The first test that needs Dir makes it: tests start
// this binary many times without a need for it.
func runTests(m *testing.M) int {
	if Binary = os.Getenv("MCPJAIL_TEST_BINARY"); Binary != "" {
		return m.Run() // a test of another process started this one, and that process made Dir
	}
	os.Setenv("XDG_STATE_HOME", Dir) // private homes
	defer os.RemoveAll(Dir)
	return m.Run()
}

// MakeDir makes Dir with Binary in it, once, and points TMPDIR there.
var MakeDir = sync.OnceValue(func() error {
	if Binary != "" {
		return nil
	}
	if err := os.Mkdir(Dir, 0o755); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	Binary = filepath.Join(Dir, "attacker")
	if err := os.WriteFile(Binary, self, 0o755); err != nil {
		return err
	}
	os.Setenv("TMPDIR", Dir)
	return errors.Join(os.Chmod(Dir, 0o755), os.Chmod(Binary, 0o755)) // the umask may have removed these bits
})

// Needs skips a test if this host cannot build a jail with namespaces.
func Needs(t testing.TB) {
	t.Helper()
	kerneltest.Needs(t, "userns", "landlock", "seccomp", "mount_api")
	testkit.Must(t, MakeDir())
}

// RunAsUser drops all groups and capabilities, also from the bounding set, becomes OrdinaryUser
// and executes argv.
func RunAsUser(argv []string) {
	runtime.LockOSThread() // the bounding set belongs to the thread that executes
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(NetworkEnv) != "" {
		if err := MakeNetwork(); err != nil {
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
