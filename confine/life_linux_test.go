package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestJailExit(t *testing.T) {
	needsJail(t)
	for _, c := range []struct {
		attempt attempt
		want    Exit
	}{
		{try("exit", "0"), Exit{}},
		{try("exit", "1"), Exit{Code: 1}},
		{try("exit", "255"), Exit{Code: 255}},
		{try("die", "9"), Exit{Code: 137, Signal: syscall.SIGKILL}},
		{try("die", "15"), Exit{Code: 143, Signal: syscall.SIGTERM}},
	} {
		s := begin(t, jailProfile(t), c.attempt)
		if got := s.finish(); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.attempt, got, c.want)
		}
		if err := s.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("Kill of a jail that is gone: %v", err)
		}
	}
}

func TestJailSignalsArePassedOn(t *testing.T) {
	needsJail(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := begin(t, jailProfile(t), try("caught"))
			s.errs.await(t, "ready")
			if err := s.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if exit := s.finish(); exit != (Exit{}) {
				t.Errorf("exit %+v", exit)
			}
			if want := fmt.Sprintf(`["ok %s"]`, sig); s.out.String() != want {
				t.Errorf("the program reported %s, want %s", s.out, want)
			}
		})
	}
	t.Run("uncaught", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("wait"))
		if err := s.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if exit := s.finish(); exit.Signal != syscall.SIGTERM && exit.Code != 2 { // a Go program that is still starting exits with 2
			t.Errorf("exit %+v", exit)
		}
	})
}

// TestJailEndsDaemons: whoever left the session and ignores signals dies with
// the jail, be it killed or be its program done.
func TestJailEndsDaemons(t *testing.T) {
	needsJail(t)
	t.Run("by Kill", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "2"), try("wait"))
		s.errs.await(t, "daemon")
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		if exit := s.finish(); exit != (Exit{Code: 137, Signal: syscall.SIGKILL}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("when the program is done", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "2"), try("caught"))
		s.errs.await(t, "daemon")
		s.Signal(syscall.SIGTERM)
		if exit := s.finish(); exit != (Exit{}) {
			t.Errorf("exit %+v", exit)
		}
	})
	t.Run("SIGKILL by Signal", func(t *testing.T) {
		s := begin(t, jailProfile(t), try("daemon", "1"), try("wait"))
		s.errs.await(t, "daemon")
		s.Signal(syscall.SIGKILL)
		s.finish()
	})
}
