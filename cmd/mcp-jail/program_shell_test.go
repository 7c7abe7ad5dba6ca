//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestShell tests shells and coreutils under the default policy.
func TestShell(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"words.txt": "b\na\nb\n"})
	s := nodeSession(t, w)
	for script, want := range testkit.Named[string](t, "shell.txt", "<pid>", fmt.Sprint(os.Getpid()+100000)) {
		if got := s.mustRun("sh", "-c", script); got != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
	}
	s.mustFail("", "sh", "-c", "cat "+w.home+"/.ssh/id_ed25519")
	s.mustFail("", "sh", "-c", "echo x >"+w.base+"/outside")
	s.mustFail("", "sh", "-c", `test -n "$PLANTED_SECRET"`)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}
