//go:build linux

package main

import (
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
			w.noLitter(t)
		})
	}
}
