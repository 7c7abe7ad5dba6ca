//go:build unix

package jail

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveTree: directories without rights are removed with all that is in them, and nothing that a
// link leads to.
func TestRemoveTree(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "tree"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "a", "b", "c"), filepath.Join(dir, "d"), outside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	// The inner directories first: an ordinary user reaches nothing in one without rights.
	for _, d := range []struct {
		name string
		mode os.FileMode
	}{
		{filepath.Join(dir, "a", "b", "c"), 0},
		{filepath.Join(dir, "a", "b"), 0},
		{filepath.Join(dir, "d"), 0o500},
		{dir, 0o500},
		{outside, 0o500},
	} {
		if err := os.Chmod(d.name, d.mode); err != nil {
			t.Fatal(err)
		}
	}
	RemoveTree(dir)
	RemoveTree("")
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the tree is left: %v", err)
	}
	if info, err := os.Lstat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("outside: %v, %v", info, err)
	}
	os.Chmod(outside, 0o700)
	if _, err := os.Lstat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
}
