package private

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRemoveFlagged: flags of files and directories do not keep a tree, and those of a file that a link
// leads to stay.
func TestRemoveFlagged(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	tree := filepath.Join(base, "own", "tree")
	must(t, os.MkdirAll(filepath.Join(tree, "dir"), 0o700))
	for _, name := range []string{outside, filepath.Join(tree, "file"), filepath.Join(tree, "dir", "file")} {
		must(t, os.WriteFile(name, nil, 0o600))
	}
	must(t, os.Symlink(outside, filepath.Join(tree, "link")))
	for _, name := range []string{outside, filepath.Join(tree, "file"), filepath.Join(tree, "dir")} {
		must(t, unix.Chflags(name, unix.UF_IMMUTABLE))
	}
	defer unix.Chflags(outside, 0)
	if os.RemoveAll(tree) == nil {
		t.Fatal("the control: the flags keep nothing")
	}
	d, err := Open(base, "own")
	testkit.Must(t, err)
	defer d.Close()
	if err := d.RemoveAll("tree"); err != nil {
		t.Error(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(outside, &st); err != nil || st.Flags&unix.UF_IMMUTABLE == 0 {
		t.Errorf("the file outside: flags %x, %v", st.Flags, err)
	}
}
