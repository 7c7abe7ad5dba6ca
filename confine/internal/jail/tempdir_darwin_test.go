package jail

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRemoveTreeFlagged: flags of files and directories keep nothing.
func TestRemoveTreeFlagged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	inner := filepath.Join(dir, "inner")
	testkit.Must(t, os.MkdirAll(inner, 0o700))
	file := filepath.Join(inner, "file")
	testkit.Must(t, os.WriteFile(file, nil, 0o600))
	for name, flags := range map[string]int{file: unix.UF_IMMUTABLE, dir: unix.UF_APPEND} {
		testkit.Must(t, unix.Chflags(name, flags))
	}
	if os.RemoveAll(dir) == nil {
		t.Fatal("the control: the flags keep nothing")
	}
	RemoveTree(dir)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the tree is left: %v", err)
	}
}
