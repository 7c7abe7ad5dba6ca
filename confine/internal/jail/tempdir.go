package jail

import (
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
)

// RemoveTree removes a directory tree in which the server may have taken the owner's rights away
// from directories, or on macOS given files a flag that keeps them. An empty name does nothing.
func RemoveTree(dir string) {
	tried := map[string]int{}
	for dir != "" { // each iteration makes one more directory accessible
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return
		}
		// On macOS a process of the server may be left, and take the rights away again.
		if tried[pe.Path]++; tried[pe.Path] > maxTries || !openUp(dir, pe.Path) {
			return
		}
	}
}

// maxTries is how often RemoveTree comes to the same name.
const maxTries = 3

// openUp gives the owner the rights that it needs to remove a name in dir. It reports whether some were
// missing.
func openUp(dir, name string) (opened bool) {
	for _, p := range []string{name, path.Dir(name)} {
		if !policy.Within(p, dir) {
			continue
		}
		opened = clearFlags(dir, p) || opened
		// Lstat follows no link, and Chmod works on the user's own directories only.
		if fi, err := os.Lstat(p); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 {
			opened = os.Chmod(p, 0o700) == nil || opened
		}
	}
	return opened
}

// clearFlags takes the flags of a path in dir away, and reports whether it had any.
func clearFlags(dir, p string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	name, err := filepath.Rel(dir, p)
	return err == nil && private.ClearFlags(root, name)
}
