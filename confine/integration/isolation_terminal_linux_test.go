package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestJailTerminal: no process of a jail has the launcher's terminal as its controlling
// terminal, and none can open it by name. Both processes of a jail lead sessions of their own.
func TestJailTerminal(t *testing.T) {
	jailtest.Needs(t)
	const controlled = "MCP_JAIL_TEST_CONTROLLED"
	if os.Getenv(controlled) == "" {
		cmd := exec.Command(jailtest.Binary, "-test.run", "^TestJailTerminal$", "-test.v")
		cmd.Env = append(os.Environ(), controlled+"=1")
		cmd.Stdin = newTerminal(t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestJailTerminal") {
			t.Errorf("with a terminal: %v\n%s", err, out)
		}
		return
	}
	own := testkit.Get(os.ReadFile("/proc/self/stat"))(t)
	terminal, err := os.Open("/dev/tty")
	if err != nil || sys.TerminalNumber(own) == 0 {
		t.Fatalf("control: this process has no terminal: %v, %s", err, own)
	}
	terminal.Close()
	p := jailtest.Profile(t)
	stat := []byte(strings.TrimPrefix(jailtest.Attempt(t, p, "read", "/proc/self/stat"), "ok "))
	testkit.Equal(t, "the server is controlled by terminal", sys.TerminalNumber(stat), 0)
	if got := jailtest.Attempt(t, p, "open", "/dev/tty"); strings.HasPrefix(got, "ok") {
		t.Errorf("the server opens the terminal: %s", got)
	}
	proc := jailtest.Begin(t, p, attacker.Try("wait"))
	init := startedBy(proc.PID())[0]
	parent := startedBy(init)[0]
	server := startedBy(parent)[0]
	for pid, leader := range map[int]int{proc.PID(): proc.PID(), init: proc.PID(), parent: proc.PID(), server: server} {
		stat := testkit.Get(os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"))(t)
		session, err := unix.Getsid(pid)
		if err != nil || session != leader || sys.TerminalNumber(stat) != 0 {
			t.Errorf("process %d is in session %d (%v), and its terminal is %d", pid, session, err, sys.TerminalNumber(stat))
		}
	}
}

// TestJailTerminalOfItsOwn: a terminal that the server makes becomes the controlling terminal of
// the process that opens it. The supervisor, which opens it for the server, gets none.
func TestJailTerminalOfItsOwn(t *testing.T) {
	jailtest.Needs(t)
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = append([]string{attacker.Name}, jailtest.Args(t, []attacker.Attempt{attacker.Try("own-terminal", "self")})...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out, err := cmd.Output(); err != nil || string(out) == `["ok 0 0"]` || !strings.HasPrefix(string(out), `["ok `) {
		t.Errorf("the control: %s, %v", out, err)
	}
	jailtest.Expect(t, "the jail's init", jailtest.Attempt(t, jailtest.Profile(t), "own-terminal", "1"), "ok 0 0")
}

// TestJailTerminalCanBeWritten: the supervisor opens the server's own controlling terminal for
// writing.
func TestJailTerminalCanBeWritten(t *testing.T) {
	jailtest.Needs(t)
	cmd := exec.Command(jailtest.Binary)
	cmd.Args = append([]string{attacker.Name}, jailtest.Args(t, []attacker.Attempt{attacker.Try("write-terminal")})...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	testkit.Equal(t, "the control", string(testkit.Get(cmd.Output())(t)), `["ok"]`)
	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, jailtest.Profile(t), "write-terminal"), "ok")
}

// newTerminal returns the end of a new terminal that a program uses.
func newTerminal(t *testing.T) *os.File {
	t.Helper()
	master := testkit.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { master.Close() })
	testkit.Must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := testkit.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	slave := testkit.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { slave.Close() })
	return slave
}
