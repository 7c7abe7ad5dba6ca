package jail

import (
	"errors"
	"os"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
)

// RemoveTree removes a directory tree in which the server may have taken the owner's rights away
// from directories. An empty name does nothing.
func RemoveTree(dir string) {
	for dir != "" { // each iteration makes one more directory accessible
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return
		}
		opened := false
		for _, p := range []string{pe.Path, path.Dir(pe.Path)} {
			// Lstat follows no link, and Chmod works on the user's own directories only.
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 && policy.Within(p, dir) {
				opened = os.Chmod(p, 0o700) == nil || opened
			}
		}
		if !opened {
			return
		}
	}
}
