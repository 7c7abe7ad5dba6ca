package integration

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
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
		s := jailtest.Begin(t, jailtest.Profile(t), c.attempt)
		if got := s.Finish(); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.attempt, got, c.want)
		}
		if err := s.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Kill of a jail that is gone: %v", err)
		}
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
			if exit := s.Finish(); exit != (confine.Exit{}) {
				t.Errorf("exit %+v", exit)
			}
			if want := fmt.Sprintf(`["ok %s"]`, sig); s.Out.String() != want {
				t.Errorf("the program reported %s, want %s", s.Out, want)
			}
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

// TestJailEndsDaemons: a process that has left the session and ignores signals ends with the
// jail, whether the jail is killed or its program ends.
func TestJailEndsDaemons(t *testing.T) {
	jailtest.Needs(t)
	t.Run("by Kill", func(t *testing.T) {
		s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("daemon", "2"), attacker.Try("wait"))
		s.Errs.Await(t, "daemon")
		testkit.Must(t, s.Kill())
		if exit := s.Finish(); exit != (confine.Exit{Code: 137, Signal: syscall.SIGKILL}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("when the program is done", func(t *testing.T) {
		s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("daemon", "2"), attacker.Try("caught"))
		s.Errs.Await(t, "daemon")
		s.Signal(syscall.SIGTERM)
		if exit := s.Finish(); exit != (confine.Exit{}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("SIGKILL by Signal", func(t *testing.T) {
		s := jailtest.Begin(t, jailtest.Profile(t), attacker.Try("daemon", "1"), attacker.Try("wait"))
		s.Errs.Await(t, "daemon")
		s.Signal(syscall.SIGKILL)
		s.Finish()
	})
}
