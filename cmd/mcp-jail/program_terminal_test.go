//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestTerminal tests pseudo-terminals, which come from the jail's own instance of
// /dev/pts.
func TestTerminal(t *testing.T) {
	need(t, "node", "script")
	t.Parallel()
	w := newWorld(t)
	s := nodeSession(t, w)
	out := s.mustRun("script", "-qec", "test -t 0 && test -t 1 && tty && stty size && ls /dev/pts && sh -ic 'echo interactive'", "/dev/null")
	for _, want := range []string{"/dev/pts/0", "ptmx", "interactive"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	// A terminal in a terminal has the next number.
	if out := s.mustRun("script", "-qec", "script -qec tty /dev/null", "/dev/null"); !strings.Contains(out, "/dev/pts/1") {
		t.Errorf("nested: %q", out)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
