package undo

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUndoUserAttributes tests that the extended attributes of a file come with its old content. The
// journal has none of them.
func TestUndoUserAttributes(t *testing.T) {
	w := newWorld(t)
	w.check(os.WriteFile(w.at("f"), []byte("the user's"), 0o600))
	value := strings.Repeat("v", 1000)
	if err := unix.Setxattr(w.at("f"), "user.note", []byte(value), 0); err != nil {
		t.Skipf("the filesystem has no attributes: %v", err)
	}
	w.begin()
	w.write("f", "the server's", os.O_TRUNC)
	w.end()
	w.mustUndo(w.session(), 0)
	w.mustHave("f", "the user's")
	got := make([]byte, 2000)
	if n, err := unix.Getxattr(w.at("f"), "user.note", got); err != nil || string(got[:n]) != value {
		t.Errorf("the attribute has %d bytes, %v", n, err)
	}
}
