//go:build linux || darwin

package jail

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestRemoveTree: directories without rights are removed with all that is in them, and nothing that a
// link leads to.
func TestRemoveTree(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "tree"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(dir, "a", "b", "c"), filepath.Join(dir, "d"), outside} {
		testkit.Must(t, os.MkdirAll(d, 0o700))
		testkit.Must(t, os.WriteFile(filepath.Join(d, "file"), nil, 0o600))
	}
	testkit.Must(t, os.Symlink(outside, filepath.Join(dir, "link")))
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
		testkit.Must(t, os.Chmod(d.name, d.mode))
	}
	RemoveTree(dir)
	RemoveTree("")
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the tree is left: %v", err)
	}
	testkit.Equal(t, "outside", testkit.Get(os.Lstat(outside))(t).Mode().Perm(), 0o500)
	os.Chmod(outside, 0o700)
	testkit.Works(t, "", testkit.ErrorOf(os.Lstat(filepath.Join(outside, "file"))))
}

// TestRemoveDeepTree: a tree that is deeper than this process may have descriptors, and whose paths are longer
// than the kernel takes, is removed.
func TestRemoveDeepTree(t *testing.T) {
	dir, name := filepath.Join(t.TempDir(), "tree"), strings.Repeat("x", 200)
	testkit.Must(t, os.Mkdir(dir, 0o700))
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range 60 {
		if err == nil {
			err = errors.Join(unix.Mkdirat(at, name, 0o700), unix.Mkdirat(at, "moved-1", 0o500))
		}
		below := -1
		if err == nil {
			below, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		unix.Close(at)
		at = below
	}
	testkit.Must(t, err)
	var limit unix.Rlimit
	testkit.Must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	defer func() {
		testkit.Works(t, "", unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	}()
	next := at + 16 // the lowest number that is free is near
	unix.Close(at)
	testkit.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next), Max: limit.Max}))
	if os.RemoveAll(dir) == nil {
		t.Fatal("the control: descriptors are not short")
	}
	RemoveTree(dir)
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the tree is left: %v", err)
	}
}
