package jail

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
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
	for _, p := range inTree(runtime.GOOS, dir, name) {
		opened = clearFlags(dir, p) || opened
		// Lstat follows no link, and Chmod works on the user's own files only.
		if fi, err := os.Lstat(p); err == nil && isKept(runtime.GOOS, fi.Mode()) {
			opened = os.Chmod(p, 0o700) == nil || opened
		}
	}
	return opened
}

// inTree returns a name and its directory, as far as they are in dir, by the names of a system.
func inTree(system, dir, name string) []string {
	separators := "/"
	if system == "windows" {
		separators = `\/`
	}
	parent := name[:max(0, strings.LastIndexAny(name, separators))]
	return slices.DeleteFunc([]string{name, parent}, func(p string) bool { return !hostfs.Within(system, p, dir) })
}

// isKept reports whether the mode of a name keeps it or what is in it. On Windows, the attribute read-only
// keeps a file, too.
func isKept(system string, mode fs.FileMode) bool {
	switch {
	case system == "windows":
		return (mode.IsDir() || mode.IsRegular()) && mode&0o200 == 0
	case mode.IsDir():
		return mode.Perm()&0o700 != 0o700
	}
	return false
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
