package integration

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

func TestJailExit(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range []struct {
		attempt attacker.Attempt
		want    confine.Exit
	}{
		{attacker.Try("exit", "0"), confine.Exit{}},
		{attacker.Try("exit", "1"), confine.Exit{Code: 1}},
		{attacker.Try("exit", "255"), confine.Exit{Code: 255}},
		{attacker.Try("die", "9"), confine.Exit{Code: 137, Signal: syscall.SIGKILL}},
		{attacker.Try("die", "15"), confine.Exit{Code: 143, Signal: syscall.SIGTERM}},
	} {
		t.Run(strings.Join(c.attempt, " "), func(t *testing.T) {
			s := jailtest.Begin(t, jailtest.Profile(t), c.attempt)
			testkit.Equal(t, "it ends with", s.Finish(), c.want)
			testkit.Is(t, "Kill of a jail that is gone", s.Kill(), os.ErrProcessDone)
		})
	}
}

func TestJailSignalsArePassedOn(t *testing.T) {
	jailtest.Needs(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("caught"))
			s.Errs.Await(t, "ready")
			testkit.Must(t, s.Signal(sig))
			testkit.Equal(t, "exit", s.Finish(), (confine.Exit{}))
			testkit.Equal(t, fmt.Sprintf("the program reported %s", s.Out), s.Out.String(), fmt.Sprintf(`["ok %s"]`, sig))
		})
	}
	t.Run("uncaught", func(t *testing.T) {
		s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("wait"))
		testkit.Must(t, s.Signal(syscall.SIGTERM))
		if exit := s.Finish(); exit.Signal != syscall.SIGTERM && exit.Code != 2 { // a Go program that is still starting exits with 2
			t.Errorf("exit %+v", exit)
		}
	})
}

// TestJailEndsDaemons: a process that has left the session and ignores signals ends with the jail,
// however the jail ends.
func TestJailEndsDaemons(t *testing.T) {
	jailtest.Needs(t)
	endsDaemons(t, confine.Launcher{}, func(*jailtest.Started) {})
}

// endsDaemons ends jails with two daemons, of which nothing may be left.
func endsDaemons(t *testing.T, l confine.Launcher, gone func(*jailtest.Started)) {
	killed := confine.Exit{Code: 137, Signal: syscall.SIGKILL}
	for name, c := range map[string]struct {
		end  func(s *jailtest.Started)
		want confine.Exit // without a reason, since it is the launcher that ends the jail
	}{
		"by Kill":          {func(s *jailtest.Started) { s.Kill() }, killed},
		"by Signal":        {func(s *jailtest.Started) { s.Signal(syscall.SIGKILL) }, killed},
		"with its program": {func(s *jailtest.Started) { s.Signal(syscall.SIGTERM) }, confine.Exit{}},
		"after being stopped": {func(s *jailtest.Started) {
			unix.Kill(s.PID(), unix.SIGSTOP)
			s.Kill()
		}, killed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := jailtest.BeginBy(t, l, jailtest.Profile(t), attacker.Try("daemon", "3"), attacker.Try("daemon", "1"), attacker.Try("caught"))
			testkit.Eventually(t, "both daemons run", func() bool {
				s.Errs.Mu.Lock()
				defer s.Errs.Mu.Unlock()
				return strings.Count(s.Errs.Text, "daemon") == 2
			})
			c.end(s)
			exit := s.Finish()
			if name == "by Signal" {
				exit.Why = "" // another process could have sent it
			}
			testkit.Equal(t, "exit", exit, c.want)
			gone(s)
		})
	}
}
