package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestUndumpableLauncher: a launcher that hides its memory still starts jails, and is hidden
// again afterwards.
func TestUndumpableLauncher(t *testing.T) {
	jailtest.Needs(t)
	const child = "MCPJAIL_TEST_UNDUMPABLE"
	if os.Getenv(child) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestUndumpableLauncher$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	testkit.Must(t, confine.Undumpable())
	p := jailtest.Profile(t)
	p.Program, p.Argv = "/usr/bin/true", []string{"true"}
	proc := testkit.Get(confine.Launcher{}.Start(t.Context(), p, jail.Stdio{}))(t)
	proc.Wait()
	testkit.Equal(t, "dumpable", testkit.Get(unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0))(t), 0)
}

// TestUnreadableSupervisor: a program that its user may execute and not read starts undumpable, and
// can still map its user IDs.
func TestUnreadableSupervisor(t *testing.T) {
	jailtest.Needs(t)
	self := testkit.Get(os.ReadFile(jailtest.Binary))(t)
	program := filepath.Join(t.TempDir(), "program")
	testkit.Must(t, os.WriteFile(program, self, 0o111))
	p := jailtest.Profile(t)
	p.Program, p.Argv = "/usr/bin/true", []string{"true"}
	proc := testkit.Get(confine.Launcher{SupervisorPath: program}.Start(t.Context(), p, jail.Stdio{}))(t)
	testkit.Equal(t, "", testkit.Get(proc.Wait())(t), (confine.Exit{}))
}
