package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// tableSize is how many descriptors a process's table holds, FDSize of
// proc_pid_status(5).
func tableSize(t *testing.T, status string) int {
	t.Helper()
	_, rest, found := strings.Cut(status, "\nFDSize:\t")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(line)
	if !found || err != nil {
		t.Fatalf("no FDSize in %q", status)
	}
	return n
}

// TestJailDescriptorTable: the server's descriptor table has room for the files that a runtime
// opens at once, however small the launcher's table is. The limit is the server's own.
func TestJailDescriptorTable(t *testing.T) {
	jailtest.Needs(t)
	status := func(p *policy.Profile) string { return jailtest.Attempt(t, p, "read", "/proc/self/status") }
	// The last two show that a start gets by with less room than it would like.
	for _, c := range []struct{ limit, least int }{{0, 2 * sys.MinFDTable}, {4096, 2 * sys.MinFDTable}, {100, 64}, {32, 1}} {
		if got := tableSize(t, status(limited(t, policy.Limits{OpenFiles: c.limit}))); got < c.least {
			t.Errorf("with a limit of %d: a table of %d, want %d", c.limit, got, c.least)
		}
	}
	// What this process has inherited stays here; and the shell's table may still be as
	// large as this process's, but not that of its child.
	testkit.Must(t, unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC))
	cmd := exec.Command("/bin/sh", "-c", "/bin/cat /proc/self/status; true")
	out := testkit.Get(cmd.Output())(t)
	if got := tableSize(t, string(out)); got >= 2*sys.MinFDTable {
		t.Errorf("control: without a jail it holds %d from the start", got)
	}
}

// TestJailFewFiles: a launcher that may open few files still starts jails.
func TestJailFewFiles(t *testing.T) {
	jailtest.Needs(t)
	for _, limit := range []string{"64", "256", "270"} {
		out, err := exec.Command("/bin/sh", "-c", "ulimit -n "+limit+` && exec "$0" -test.run '^TestJailExit$' -test.v`, jailtest.Binary).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestJailExit") {
			t.Errorf("ulimit -n %s: %v\n%s", limit, err, out)
		}
	}
}

// TestJailFewFilesManyCarveOuts: hidden directories with a granted part take none of the open files
// that the server may have.
func TestJailFewFilesManyCarveOuts(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/last")
	grants := []jailtest.Grant{{Path: dir + "/ws", Rights: rw}}
	for i := range 60 {
		shut := fmt.Sprintf("%s/ws/%02d", dir, i)
		testkit.PlantBelow(t, shut, "in/x", "out/x")
		grants = append(grants, jailtest.Grant{Path: shut, Rights: 0}, jailtest.Grant{Path: shut + "/in", Rights: r})
	}
	last := dir + "/ws/59"
	got := jailtest.Attempts(t, limited(t, policy.Limits{OpenFiles: 32}, grants...), attacker.Try("read", last+"/in/x"), attacker.Try("read", last+"/out/x"), attacker.Try("create", last+"/new"), attacker.Try("create", dir+"/ws/new"))
	testkit.Equal(t, "", fmt.Sprint(got), "[ok x ENOENT EROFS ok]")
}

// TestJailNullDevice: the device that stands for a missing stdin is not the host's /dev/null,
// which all processes share.
func TestJailNullDevice(t *testing.T) {
	jailtest.Needs(t)
	ownNull(t, confine.Launcher{}, "EROFS")
	callByCall := func(_ *jail.Builder, steps []jail.Step) []jail.Step { return steps }
	ownNull(t, confine.Launcher{TestHooks: jail.TestHooks{Steps: callByCall}}, "EROFS")
}

// TestHostNSNullDevice is TestJailNullDevice without namespaces.
func TestHostNSNullDevice(t *testing.T) {
	jailtest.NeedsHostNS(t)
	ownNull(t, jailtest.WaivesGaps, "EACCES")
}

func ownNull(t *testing.T, l confine.Launcher, errno string) {
	t.Helper()
	var null unix.Stat_t
	testkit.Must(t, unix.Stat("/dev/null", &null))
	if int(null.Uid) == os.Getuid() { // an ordinary user, and its user namespace, may not change it in any case
		jailtest.Expect(t, "the control", jailtest.Unconfined(t, "/", attacker.Try("null"))[0], "ok fchmod <nil> fchown <nil>")
	}
	got, err := jailtest.Run(t, l, jailtest.Profile(t), []attacker.Attempt{attacker.Try("null")})
	if want := attacker.Outcome(fmt.Sprintf("ok fchmod %[1]s fchown %[1]s", errno)); err != nil || got[0] != want {
		t.Errorf("%v, %v", got, err)
	}
}
