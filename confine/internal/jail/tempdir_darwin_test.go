package jail

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRemoveTreeFlagged: flags of files and directories keep nothing.
func TestRemoveTreeFlagged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	inner := filepath.Join(dir, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(inner, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string]int{file: unix.UF_IMMUTABLE, dir: unix.UF_APPEND} {
		if err := unix.Chflags(name, flags); err != nil {
			t.Fatal(err)
		}
	}
	if os.RemoveAll(dir) == nil {
		t.Fatal("the control: the flags keep nothing")
	}
	RemoveTree(dir)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the tree is left: %v", err)
	}
}
