package integration

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"golang.org/x/sys/unix"
)

// TestJailTerminalGiven: Stdio.Terminal gives the program a controlling terminal in the jail's own /dev/pts.
// It can type neither into that one nor into the launcher's, and sees no other.
func TestJailTerminalGiven(t *testing.T) {
	jailtest.Needs(t)
	givenTerminal(t, "TestJailTerminalGiven", "/dev/pts/0 controlled:true front:true")
}

// TestHostNSTerminalGiven: without namespaces the terminal is in the host's /dev/pts, which the program
// cannot open anything in.
func TestHostNSTerminalGiven(t *testing.T) {
	jailtest.NeedsHostNS(t)
	givenTerminal(t, "TestHostNSTerminalGiven", " controlled:true front:true")
}

func givenTerminal(t *testing.T, name, want string) {
	const controlled = "MCP_JAIL_TEST_CONTROLLED"
	hostNS := strings.HasPrefix(name, "TestHostNS")
	if os.Getenv(controlled) == "" {
		screen, users := terminalPair(t)
		cmd := exec.Command(jailtest.Binary, "-test.run", "^"+name+"$", "-test.v")
		cmd.Env = append(os.Environ(), controlled+"=1")
		cmd.Stdin = users
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("with a terminal: %v\n%s", err, out)
		}
		for what, f := range map[string]*os.File{"typed into": users, "wrote to": screen} {
			if n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ); err != nil || n != 0 {
				t.Errorf("the jail %s the launcher's terminal: %d bytes, %v", what, n, err)
			}
		}
		return
	}
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
		t.Fatalf("control: this process has no terminal: %v", err)
	} else {
		tty.Close()
	}
	p := jailtest.Profile(t)
	attempts := []attacker.Attempt{attacker.Try("given-terminal"), attacker.Try("type-into-all"), attacker.Try("type"), attacker.Try("open", "/dev/tty")}
	p.Argv = append(p.Argv, jailtest.Args(t, attempts)...)
	l := confine.Launcher{}
	if hostNS {
		l = jailtest.WaivesGaps
	}
	prepared := ""
	terminal := &confine.Terminal{Prepare: func(master *os.File) {
		unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 7, Col: 9})
		prepared = "yes"
	}}
	process, err := l.Start(t.Context(), p, jail.Stdio{Terminal: terminal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Kill(); <-process.Done(); terminal.Master.Close() })
	shown, _ := io.ReadAll(terminal.Master) // EIO at its end
	exit, err := process.Wait()
	if err != nil || exit.Code != 0 || prepared == "" {
		t.Errorf("%+v, %v, prepared %q", exit, err, prepared)
	}
	report := string(shown)
	if i := strings.LastIndex(report, `["`); i > 0 {
		report = report[i:] // after what the attacker wrote to its own terminal
	}
	got := jailtest.Outcomes(t, attempts, []byte(report), string(shown))
	if !strings.HasPrefix(string(got[0]), "ok ") || !strings.HasSuffix(string(got[0]), want) {
		t.Errorf("the terminal: %s, want %s", got[0], want)
	}
	inside := "ok /dev/pts/0 /dev/tty"
	for _, word := range strings.Fields(strings.TrimPrefix(string(got[1]), "ok")) {
		if !strings.HasPrefix(word, "/dev/tty") && !strings.HasSuffix(word, "/dev/pts/0") && !strings.HasPrefix(word, "/proc/") {
			t.Errorf("it opens %s", word)
		}
	}
	if !hostNS && !strings.HasPrefix(string(got[1]), inside) || !strings.HasPrefix(string(got[1]), "ok") {
		t.Errorf("terminals: %s, want the jail's own", got[1])
	}
	if hostNS && got[2] != "EACCES" || !hostNS && got[2] != "EPERM" {
		t.Errorf("typing: %s", got[2])
	}
	if strings.HasPrefix(string(got[3]), "ok") == hostNS {
		t.Errorf("/dev/tty: %s", got[3])
	}
}
