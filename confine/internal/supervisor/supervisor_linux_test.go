package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main()
	testkit.Programs{runReporter: reporterMain}.Dispatch()
	os.Exit(m.Run())
}

// TestSupervisorEndsWithInit checks that a supervisor whose init has ended does not wait for
// its spec: the launcher may be waiting for the supervisor. A shell whose child plays the init
// becomes the supervisor.
func TestSupervisorEndsWithInit(t *testing.T) {
	self := testkit.Get(os.Executable())(t)
	ends := testkit.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	launcher, events := os.NewFile(uintptr(ends[0]), "launcher"), os.NewFile(uintptr(ends[1]), "events")
	defer launcher.Close()
	cmd := exec.Command("bash", "-c", `sleep 0.2 & exec -a "$1" "$0" 22 "$2"`, self, spec.SupervisorName, spec.ArgSupervise)
	cmd.ExtraFiles = []*os.File{events, events}
	// As in a jail, the supervisor is 1 and the init 2 of a PID namespace.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		testkit.Skip(t, "userns", "%v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	events.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	testkit.Eventually(t, "the end of the supervisor", func() bool { return len(ended) > 0 })
	testkit.Works(t, &stderr, <-ended)
}

// runReporter is the argv[0] that makes the test binary report a failed step as the first process of
// a PID namespace.
const runReporter = "mcp-jail-test-reporter"

// reporterMain starts a program that ends when its input does. It reports a step that failed, ends
// that input, and prints how the program ended.
func reporterMain() {
	if unix.Getpid() != 1 {
		fmt.Println("it is not the first process of its namespace")
		return
	}
	_, status, err := os.Pipe()
	cmd := exec.Command("cat")
	input, inputErr := cmd.StdinPipe()
	if err = errors.Join(err, inputErr, cmd.Start()); err != nil {
		fmt.Println(err)
		return
	}
	(&Process{status: eventWriter{status}}).report(errors.New("it failed"))
	input.Close()
	cmd.Wait()
	fmt.Print(cmd.ProcessState)
}

// TestReportKillsNamespace tests that a report kills the other processes of the namespace itself.
// The end of the reporting process kills them too, but only after it has closed the listener.
func TestReportKillsNamespace(t *testing.T) {
	cmd := testkit.Self(runReporter)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		testkit.Skip(t, "userns", "%v", err)
	}
	if string(out) != "signal: killed" || err != nil {
		t.Errorf("%v, the program ended so: %s", err, out)
	}
}
