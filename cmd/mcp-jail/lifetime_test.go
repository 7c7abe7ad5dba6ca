//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// waitForDaemons waits until both daemons of the daemon server run, so that a later
// search for them can find something.
func (s *clientSession) waitForDaemons(w *world) {
	s.t.Helper()
	testkit.Eventually(s.t, "the daemons are up", func() bool {
		n := 0
		for _, p := range w.processes() {
			if strings.Contains(p, "while :; do sleep") {
				n++
			}
		}
		return n >= 2
	})
}

// TestSignalsEndSession tests that each signal ends mcp-jail and all processes of the
// session.
func TestSignalsEndSession(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "stubborn"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGKILL} {
			t.Run(fmt.Sprint(sig, kind), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s := open(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), kind), nil)
				s.waitForDaemons(w)
				must(t, s.cmd.Process.Signal(sig))
				status := s.wait()
				if status == 0 {
					t.Errorf("exit status 0 after %s", sig)
				}
				w.noneLeft(t)
			})
		}
	}
}

// TestClientLeavesEarly tests that nothing is left of a client that goes away at any
// stage of the handshake.
func TestClientLeavesEarly(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*world, *clientSession){
		"at once":              func(w *world, s *clientSession) { s.in.Close() },
		"after half a message": func(w *world, s *clientSession) { s.in.Write([]byte(`{"jsonrpc":"2.0","id":0,"met`)); s.in.Close() },
		"after a request":      func(w *world, s *clientSession) { s.request("initialize", map[string]any{}); s.in.Close() },
		"after the handshake":  func(w *world, s *clientSession) { s.initialize(nil); s.waitForDaemons(w); s.in.Close() },
		"during a call": func(w *world, s *clientSession) {
			s.initialize(nil)
			s.waitForDaemons(w)
			s.request("no/answer", nil)
			s.in.Close()
		},
		"deaf": func(w *world, s *clientSession) {
			s.initialize(nil)
			s.cmd.Process.Signal(syscall.SIGPIPE)
			s.in.Close()
		},
		"with a signal, at once": func(w *world, s *clientSession) { s.in.Close(); s.cmd.Process.Signal(syscall.SIGTERM) },
		"killed during start":    func(w *world, s *clientSession) { s.cmd.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := start(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), ""))
			leave(w, s)
			s.wait()
			w.noneLeft(t)
			if left, _ := filepath.Glob("/tmp/*" + filepath.Base(w.base) + "*"); len(left) > 0 {
				t.Errorf("litter: %q", left)
			}
		})
	}
}

// TestStubbornServerKilled tests that a server which ignores the end of its input and
// signals is killed after the client left.
func TestStubbornServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := open(t, w.jail("--", "sh", w.fixture(t, "daemon.sh"), "stubborn"), nil)
	s.waitForDaemons(w)
	if status := s.close(); status != 137 {
		t.Errorf("exit status %d, want 128 + SIGKILL", status)
	}
}

// TestExitStatusOfServer tests that mcp-jail exits with the status of the server, and
// that orphans of the server end, too.
func TestExitStatusOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$; sleep 9": 143, "sleep 999 & exit 3": 3} {
		s := start(t, w.jail("--", "sh", "-c", "# "+w.base+"/\n"+script))
		if got := s.close(); got != want {
			t.Errorf("%q: exit status %d, want %d", script, got, want)
		}
		w.noneLeft(t)
	}
}
