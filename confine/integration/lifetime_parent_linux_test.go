package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestJailParent: the parent of the server is not process 1, and has no low number. A process that its own
// parent has left sees process 1, so a program that watches for that still learns of it.
func TestJailParent(t *testing.T) {
	jailtest.Needs(t)
	for _, steps := range []string{"in batches", "step by step"} {
		var l confine.Launcher
		if steps != "in batches" {
			l.TestHooks.Steps = func(_ *jail.Builder, all []jail.Step) []jail.Step { return all }
		}
		got := testkit.Get(jailtest.Run(t, l, jailtest.Profile(t), []attacker.Attempt{attacker.Try("parent"), attacker.Try("orphan")}))(t)
		if n, err := strconv.Atoi(strings.TrimPrefix(string(got[0]), "ok ")); err != nil || n < 100 {
			t.Errorf("%s: the parent of the server: %s", steps, got[0])
		}
		jailtest.Expect(t, steps+": the parent of an orphan", got[1], "ok 1")
	}
}

// TestJailParentCannotBeTouched: the server can neither signal nor read its parent. The control is a process
// whose parent is this test.
func TestJailParentCannotBeTouched(t *testing.T) {
	jailtest.Needs(t)
	signals := attacker.Outcome("ok EPERM")
	if kernel.Detect().LandlockABI < 6 {
		signals = "ok ok"
	}
	var tries []attacker.Attempt
	var want []attacker.Outcome
	for _, c := range []struct {
		try  string
		want attacker.Outcome
	}{
		{"signal PARENT 0", signals}, {"signal-thread PARENT", signals}, {"queue-signal PARENT", signals}, {"pidfd-signal PARENT", signals},
		{"open /proc/PARENT/environ", "ok EACCES"}, {"open /proc/PARENT/maps", "ok EACCES"}, {"readlink /proc/PARENT/exe", "ok EACCES"},
		{"list /proc/PARENT/cwd", "ok EACCES"}, {"list /proc/PARENT/root", "ok EACCES"}, {"readlink /proc/PARENT/ns/net", "ok EACCES"},
	} {
		tries, want = append(tries, attacker.Try("of-parent", strings.Fields(c.try)...)), append(want, c.want)
	}
	for i, got := range jailtest.Unconfined(t, "/", tries...) {
		if !strings.HasPrefix(string(got), "ok ok") {
			t.Errorf("the control: %v: %s", tries[i], got)
		}
	}
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t), tries...) {
		jailtest.Expect(t, tries[i].String(), got, want[i])
	}
}

// TestJailReaps: the init reaps what the server leaves. The server and its parent stay.
func TestJailReaps(t *testing.T) {
	jailtest.Needs(t)
	s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("orphan"), attacker.Try("wait"))
	init := startedBy(s.PID())[0]
	testkit.Eventually(t, "the server waits", func() bool { return s.Out.Count("ready") == 1 })
	testkit.Eventually(t, "the init has one child, and that one has one", func() bool {
		children := startedBy(init)
		return len(children) == 1 && len(startedBy(children[0])) == 1
	})
}

// TestJailParentEnds: if something kills the server's parent, the server goes on as a child of the init, and
// signals and its status pass.
func TestJailParentEnds(t *testing.T) {
	jailtest.Needs(t)
	s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("caught"), attacker.Try("exit", "7"))
	s.Errs.Await(t, "ready")
	init := startedBy(s.PID())[0]
	parent := startedBy(init)[0]
	server := startedBy(parent)
	testkit.Must(t, unix.Kill(parent, unix.SIGKILL))
	testkit.Eventually(t, "the server is the only child of the init", func() bool { return fmt.Sprint(startedBy(init)) == fmt.Sprint(server) })
	testkit.Must(t, s.Signal(unix.SIGTERM))
	testkit.Equal(t, "exit", s.Finish(), confine.Exit{Code: 7})
}
