package integration

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// Kernel tests run their attempts in a copy of the test binary, which reports
// exactly one outcome through a pipe. A child that dies, hangs, reports nothing
// or reports twice fails the test.

const (
	childEnv    = "MCPJAIL_TEST_CHILD"
	childPipeFD = 3
)

// children are the attempts by name. They run with the arguments that the
// parent gave and return the outcome.
var children = map[string]func(args []string) string{
	"landlock": landlockChild,
}

// TestChild: a copy of the test binary runs its attempt here. It is not a test of its own.
func TestChild(t *testing.T) {
	spec := os.Getenv(childEnv)
	if spec == "" {
		return
	}
	runtime.LockOSThread()
	args := strings.Split(spec, "\x1f")
	outcome := children[args[0]](args[1:])
	fmt.Fprintf(os.NewFile(childPipeFD, "outcome"), "%s\n", outcome)
	syscall.Exit(0)
}

// user is the user that a child runs as. nil is the user of the test.
type user = *syscall.Credential

func inChild(t testing.TB, as user, args ...string) string {
	t.Helper()
	out, err := tryChild(as, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return out
}

func tryChild(as user, args ...string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = []string{childEnv + "=" + strings.Join(args, "\x1f"), "GOTRACEBACK=none", "GOCOVERDIR=/nonexistent"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as, Pdeathsig: syscall.SIGKILL}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	runtime.LockOSThread() // Pdeathsig means the thread
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", err
	}
	timer := time.AfterFunc(testkit.Patience, func() { cmd.Process.Kill() })
	b, _ := io.ReadAll(r)
	err = cmd.Wait()
	timer.Stop()
	if err != nil {
		return "", fmt.Errorf("the child ended with %v after %q: %.300s", err, b, stderr.String())
	}
	out := string(b)
	if strings.Count(out, "\n") != 1 || !strings.HasSuffix(out, "\n") {
		return "", fmt.Errorf("the child reported %q instead of one outcome", out)
	}
	return strings.TrimSuffix(out, "\n"), nil
}
