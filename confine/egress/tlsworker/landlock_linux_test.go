package tlsworker

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

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// An attempt is an access that the domain denies from an ABI on.
type attempt struct {
	name  string
	since int
	errno syscall.Errno
	try   func() error
}

// attempts returns what a process tries in a directory that everyone may write, with a
// process outside its domain. The directory has a file, a program and a socket.
func attempts(dir string, outside int) []attempt {
	open := func(name string, flags int) func() error {
		return func() error {
			fd, err := unix.Open(filepath.Join(dir, name), flags|unix.O_CLOEXEC, 0o600)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}
	}
	socket := func(family, kind int, use func(fd int) error) func() error {
		return func() error {
			fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return use(fd)
		}
	}
	loopback := [4]byte{127, 0, 0, 1}
	connectUnix := func(name string) func() error {
		return socket(unix.AF_UNIX, unix.SOCK_STREAM, func(fd int) error { return unix.Connect(fd, &unix.SockaddrUnix{Name: name}) })
	}
	return []attempt{
		{"read a file", 1, unix.EACCES, open("file", unix.O_RDONLY)},
		{"write a file", 1, unix.EACCES, open("file", unix.O_WRONLY)},
		{"list a directory", 1, unix.EACCES, open(".", unix.O_RDONLY|unix.O_DIRECTORY)},
		{"create and remove a file", 1, unix.EACCES, func() error {
			if err := open("new", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)(); err != nil {
				return err
			}
			return unix.Unlink(filepath.Join(dir, "new"))
		}},
		{"remove a file", 1, unix.EACCES, func() error {
			err := unix.Unlink(filepath.Join(dir, "socket"))
			if err == nil {
				return listenUnix(filepath.Join(dir, "socket"))
			}
			return err
		}},
		{"execute a program", 1, unix.EACCES, func() error { return exec.Command(filepath.Join(dir, "program")).Run() }},
		{"truncate a file", 3, unix.EACCES, func() error { return unix.Truncate(filepath.Join(dir, "file"), 0) }},
		{"listen on a TCP port", 4, unix.EACCES, socket(unix.AF_INET, unix.SOCK_STREAM, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback})
		})},
		{"connect to an abstract socket", 6, unix.EPERM, connectUnix("@" + dir)},
		{"signal another process", 6, unix.EPERM, func() error { return unix.Kill(outside, 0) }},
		{"connect to a UNIX socket", 9, unix.EACCES, connectUnix(filepath.Join(dir, "socket"))},
		{"bind a UDP port", 10, unix.EACCES, socket(unix.AF_INET, unix.SOCK_DGRAM, func(fd int) error {
			return unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback})
		})},
	}
}

// listenUnix makes a socket that takes connections as long as this process lives.
func listenUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return err
	}
	return unix.Listen(fd, 16)
}

// landlockDir is the variable that tells this test's child its directory.
const landlockDir = "MCPJAIL_TEST_LANDLOCK_DIR"

// TestLandlockDomain has a child make each attempt before it enters the domain, as the
// control, and again on another thread after it has entered. As root the test also runs
// the child as an ordinary user.
func TestLandlockDomain(t *testing.T) {
	if dir := os.Getenv(landlockDir); dir != "" {
		testkit.Must(t, inDomain(dir))
		return
	}
	if abi, err := ll.LandlockGetABIVersion(); err != nil || abi < 1 {
		testkit.Skip(t, "landlock", "%v", err)
	}
	users := map[string]*syscall.SysProcAttr{"own": nil}
	if os.Getuid() == 0 {
		users["ordinary"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for user, attr := range users {
		t.Run(user, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "mcp-jail-landlock-")
			testkit.Must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			testkit.Must(t, plantAttempts(dir))
			c := testkit.Self(os.Args[0], "-test.run=^TestLandlockDomain$", "-test.v")
			c.Env, c.SysProcAttr = append(os.Environ(), landlockDir+"="+dir), attr
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestLandlockDomain") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// plantAttempts puts into a directory what attempts need. Everyone may write there.
func plantAttempts(dir string) error {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o666), os.Chmod(filepath.Join(dir, "file"), 0o666),
		testkit.WriteProgram(filepath.Join(dir, "program"), program), os.Chmod(dir, 0o777),
	)
}

// inDomain enters the domain and returns what was not as it should be.
func inDomain(dir string) error {
	if err := errors.Join(listenUnix(filepath.Join(dir, "socket")), listenUnix("@"+dir)); err != nil {
		return err
	}
	outside := exec.Command("/bin/cat")
	stdin, err := outside.StdinPipe()
	if err != nil {
		return err
	}
	if err := outside.Start(); err != nil {
		return err
	}
	defer outside.Wait()
	defer stdin.Close()

	abi, _ := ll.LandlockGetABIVersion()
	errata, _ := ll.LandlockGetErrata()
	entered, result := make(chan struct{}), make(chan error)
	thread := make(chan int, 1)
	go func() { // a thread that is there before the domain
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		var wrong []error
		for _, a := range attempts(dir, outside.Process.Pid) {
			if err := a.try(); err != nil {
				wrong = append(wrong, fmt.Errorf("control: %s: %w", a.name, err))
			}
		}
		entered <- struct{}{}
		<-entered
		for _, a := range attempts(dir, outside.Process.Pid) {
			denied := abi >= a.since && (a.since != 6 || domain(abi, errata).String() == domain(threadSyncABI, 0).String())
			if err := a.try(); denied && !errors.Is(err, a.errno) || !denied && err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %v, want %v (denied: %v)", a.name, err, a.errno, denied))
			}
		}
		result <- errors.Join(wrong...)
	}()
	other := <-thread
	<-entered
	if err := enterLandlockDomain(); err != nil {
		return err
	}
	entered <- struct{}{}
	err = <-result
	if own := unix.Tgkill(unix.Getpid(), other, 0); own != nil && own != unix.ESRCH { // it may have ended
		err = errors.Join(err, fmt.Errorf("signal to a thread of its own: %w", own))
	}
	return err
}

// TestLandlockDomainNeedsSignals checks that below threadSyncABI the process fails, and does not
// wait forever, if no signal can be queued for its threads.
func TestLandlockDomainNeedsSignals(t *testing.T) {
	const variable = "MCPJAIL_TEST_LANDLOCK_SIGNALS"
	if os.Getenv(variable) != "" {
		testkit.Must(t, unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{}))
		if err := enterLandlockDomain(); err == nil || !strings.Contains(err.Error(), "ulimit -i") {
			t.Errorf("%v", err)
		}
		return
	}
	if abi, err := ll.LandlockGetABIVersion(); err != nil || abi >= threadSyncABI {
		t.Skipf("Landlock's ABI is %d (%v), and from %d on no signals are needed", abi, err, threadSyncABI)
	}
	c := testkit.Self(os.Args[0], "-test.run=^TestLandlockDomainNeedsSignals$", "-test.v")
	c.Env = append(os.Environ(), variable+"=1")
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLandlockDomainNeedsSignals") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCheckSignalQueue(t *testing.T) {
	for _, c := range []struct {
		status string
		ok     bool
	}{
		{"Name:\tx\nThreads:\t5\nSigQ:\t0/10\nSigPnd:\t0\n", true},
		{"Name:\tx\nThreads:\t5\nSigQ:\t1/10\nSigPnd:\t0\n", false},
		{"Name:\tx\nThreads:\t5\nSigQ:\t0/0\n", false},
		{"Name:\tx\nThreads:\t5\n", false},
	} {
		if err := checkSignalQueue(c.status); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.status, err)
		}
	}
}

// TestLandlockDomainScopes checks that signals are scoped only where threads of one process can
// still signal one another.
func TestLandlockDomainScopes(t *testing.T) {
	for _, c := range []struct {
		abi, errata int
		scoped      bool
	}{{5, 0, false}, {6, 0, false}, {7, 1, false}, {6, scopeErratum, true}, {7, scopeErratum | 1, true}, {8, 0, true}, {11, 0, true}} {
		if got := domain(c.abi, c.errata).Scoped != 0; got != c.scoped {
			t.Errorf("ABI %d, errata %b: scoped %v", c.abi, c.errata, got)
		}
	}
}
