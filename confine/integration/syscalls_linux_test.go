package integration

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel/kerneltest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// filterEnv is set in a copy of the test binary that filters its own calls. It says how.
const filterEnv = "MCPJAIL_TEST_FILTER"

// TestSeccompReachesEveryThread: the filter holds for threads that started before it was installed. The
// attack matrix tries the calls that it refuses, in the jail and under the filter alone.
func TestSeccompReachesEveryThread(t *testing.T) {
	kerneltest.Needs(t, "seccomp", "seccomp_tsync")
	if how := os.Getenv(filterEnv); how != "" {
		os.Stdout.WriteString("outcome " + filteredThread(t, how) + "\n")
		os.Exit(0)
	}
	for how, want := range map[string]string{"one": "EBADF", "all": "EPERM"} { // without TSYNC: the control
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestSeccompReachesEveryThread$")
		cmd.Env = append(os.Environ(), filterEnv+"="+how)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "outcome "+want+"\n") {
			t.Errorf("the filter of %s: %v, %s, want %s", how, err, out, want)
		}
	}
}

// filteredThread returns what a call comes to in a thread that started before the filter was installed.
func filteredThread(t *testing.T, how string) string {
	attempt, outcome := make(chan bool), make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		attempt <- true
		<-attempt
		outcome <- attacker.RawCall(unix.SYS_SETNS, ^uintptr(0), 0)
	}()
	runtime.LockOSThread()
	<-attempt
	flags := uintptr(0)
	if how == "all" {
		flags = unix.SECCOMP_FILTER_FLAG_TSYNC
	}
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	prog, err := seccomp.Compile(arch, seccomp.Options{Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true})
	testkit.Must(t, err)
	testkit.Must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	_, err = seccomp.Install(&stub.Task{}, seccomp.Records(prog), flags)
	testkit.Must(t, err)
	attempt <- true
	return attacker.ErrnoName(<-outcome)
}
