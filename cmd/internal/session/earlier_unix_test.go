//go:build unix

package session

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOpenFound checks that what was put in the place of a login since it was looked at is not read, and
// that nothing waits for it.
func TestOpenFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		replace func(file string) error
		ok      bool
	}{
		{"the same", func(string) error { return nil }, true},
		{"a link to another file", func(file string) error { return os.Symlink("../.ssh/key", file) }, false},
		{"a link out of the home", func(file string) error { return os.Symlink("/etc/passwd", file) }, false},
		{"a fifo", func(file string) error { return syscall.Mkfifo(file, 0o600) }, false},
		{"a directory", func(file string) error { return os.Mkdir(file, 0o700) }, false},
		{"another file", func(file string) error { return os.WriteFile(file, nil, 0o600) }, false},
	} {
		home := testkit.Plant(t, ".auth/login", ".ssh/key")
		root, err := os.OpenRoot(home)
		testkit.Must(t, err)
		found, err := root.Lstat(".auth/login")
		testkit.Must(t, err)
		file := filepath.Join(home, ".auth/login")
		if !c.ok {
			testkit.Must(t, os.Rename(file, file+".old")) // its inode stays in use
		}
		testkit.Must(t, c.replace(file))
		_, err = readFound(root, ".auth/login", found)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		root.Close()
	}
}
