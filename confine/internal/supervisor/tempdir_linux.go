package supervisor

import (
	"errors"
	"os"
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
)

// removeTree removes a directory that its user may have shut in places; "" is none.
func RemoveTree(dir string) {
	for dir != "" { // each time one more is opened up
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return
		}
		shut := false
		for _, p := range []string{pe.Path, path.Dir(pe.Path)} {
			// No link is followed, and only what is ours can be opened up.
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 && policy.Within(p, dir) {
				shut = os.Chmod(p, 0o700) == nil || shut
			}
		}
		if !shut {
			return
		}
	}
}
