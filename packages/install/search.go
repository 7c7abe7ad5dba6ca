package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// searchPath returns the directories of PATH from which npm, node and uv may be run. It leaves out
// relative directories, and directories in which servers may write: what runs from there decides what
// is pinned.
func (i *Installer) searchPath() (dirs []string) {
	path, _ := i.Host.Getenv("PATH")
	for dir := range strings.SplitSeq(path, string(filepath.ListSeparator)) {
		if dir != "" && i.trusted(dir) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

// trusted reports whether no server may write a directory, as far as that is known here.
func (i *Installer) trusted(dir string) bool {
	if !filepath.IsAbs(dir) {
		return false
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		real = filepath.Clean(dir)
	}
	places := slices.Clone(i.Untrusted)
	if work := i.Host.Dir; filepath.IsAbs(work) && !policy.Within(i.Host.Home, work) {
		places = append(places, work) // the workspace of most servers
	}
	return !slices.ContainsFunc(places, func(place string) bool {
		return policy.Within(filepath.Clean(dir), place) || policy.Within(real, place)
	})
}

// ignoredPaths returns a remark for an error that names the first directory of PATH that was left
// out, or "".
func (i *Installer) ignoredPaths() string {
	path, _ := i.Host.Getenv("PATH")
	for dir := range strings.SplitSeq(path, string(filepath.ListSeparator)) {
		if dir != "" && !i.trusted(dir) {
			return fmt.Sprintf(" (%s and its like are left out: servers may write there)", dir)
		}
	}
	return ""
}

// lookPath returns the program of a name in some directories, or "".
func lookPath(dirs []string, name string) string {
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}
