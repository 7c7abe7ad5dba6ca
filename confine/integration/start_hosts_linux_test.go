package integration

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// What the host around the jail is like, and what it does meanwhile.

// TestJailEndOfFile: the client sees the end of the output when the program closes it, while the
// program goes on.
func TestJailEndOfFile(t *testing.T) {
	jailtest.Needs(t)
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	p := jailtest.Profile(t)
	p.Program, p.Argv = "/usr/bin/sh", []string{"sh", "-c", "echo out; exec >&- 2>&-; sleep 60"}
	proc, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{Out: w, Err: w})
	w.Close()
	testkit.Must(t, err)
	defer func() { proc.Kill(); <-proc.Done() }()
	jailtest.Within(t, "end-of-file", func() {
		if b, _ := io.ReadAll(r); string(b) != "out\n" {
			t.Errorf("%q", b)
		}
	})
	select {
	case <-proc.Done():
		t.Error("the program is gone")
	default:
	}
}

// TestJailWithoutProc: if the host's /proc is partly masked, the jail has no /proc, and no
// grant gives it the host's.
func TestJailWithoutProc(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "file")
	for _, grants := range [][]jailtest.Grant{{{Path: dir, Rights: r}}, {{Path: "/", Rights: r}}} {
		p := jailtest.Profile(t, grants...)
		f := kernel.Detect()
		f.FreshProc = kernel.Unavailable("masked", "unmask")
		got := onHostWith(t, p, f, nil,
			attacker.Try("stat", "/proc/self"), attacker.Try("stat", "/proc/1"), attacker.Try("stat", fmt.Sprintf("/proc/%d", os.Getpid())), attacker.Try("read", dir+"/file"), attacker.Try("kill", fmt.Sprint(os.Getpid())))
		gone := "ENOENT"
		if grants[0].Path == "/" {
			gone = "EACCES" // behind a mask
		}
		testkit.Equal(t, grants, fmt.Sprint(got), fmt.Sprintf("[%s %s %s ok file ESRCH]", gone, gone, gone))
	}
}

// TestJailFromPID1: a launcher can be the init of a container, with the process ID that the init
// of a jail has too.
func TestJailFromPID1(t *testing.T) {
	jailtest.Needs(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make the container")
	}
	cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", jailtest.Binary, "-test.run=^TestJailExit$", "-test.v")
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+jailtest.Binary)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestJailExit") {
		t.Errorf("%v\n%s", err, out)
	}
}
