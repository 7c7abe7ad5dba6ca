package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// hideDescriptor writes to a file through a descriptor that was in no table of descriptors for a
// while, and then opens the file anew.
const hideDescriptor = `
import os, socket, time
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
fd = os.open("a", os.O_WRONLY)
socket.send_fds(a, [b"x"], [fd])
os.close(fd)
time.sleep(3)
_, fds, _, _ = socket.recv_fds(b, 1, 1)
os.write(fds[0], b"unseen\n")
os.close(fds[0])
fd = os.open("a", os.O_WRONLY)
os.write(fd, b"server")
os.close(fd)
`

// TestUndoHiddenDescriptor: a write of a server through a descriptor that it has sent to itself
// is not taken for a change by others.
func TestUndoHiddenDescriptor(t *testing.T) {
	t.Parallel()
	need(t, "/usr/bin/python3")
	w, config := execWorld(t, "undo = \"session\"\n")
	s := open(t, w.jail("--config", config, "agent"), nil)
	s.mustRun("/usr/bin/python3", "-c", hideDescriptor)
	s.close()
	w.noneLeft(t)
	if out := w.output(t, "changes", "agent"); strings.Contains(out, "others") || !strings.Contains(out, "/work/a") {
		t.Errorf("changes says\n%s", out)
	}
	w.output(t, "undo", "agent", "--yes")
	if got := testkit.ReadFile(t, filepath.Join(w.work, "a")); got != "a\n" {
		t.Errorf("a has %q", got)
	}
}
