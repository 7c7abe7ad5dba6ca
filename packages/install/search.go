package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// searchPath returns the directories of PATH from which npm, node and uv may be run: what
// they say and do decides what is installed.
func (i *Installer) searchPath() (dirs []string) {
	for _, dir := range i.pathDirs() {
		if i.untrusted(dir) == "" {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

func (i *Installer) pathDirs() []string {
	if i.Host.OS == "darwin" {
		return i.Host.SearchPath()
	}
	path, _ := i.Host.Getenv("PATH")
	return slices.DeleteFunc(strings.Split(path, ":"), func(dir string) bool { return dir == "" })
}

// untrusted returns why nothing is run from a place, or "". The working directory is the workspace
// of most servers.
func (i *Installer) untrusted(file string) string {
	if !filepath.IsAbs(file) {
		return "it is relative"
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real = filepath.Clean(file)
	}
	within := func(path, dir string) bool { return hostfs.Within(i.Host.OS, path, dir) }
	if work := i.Host.Dir; filepath.IsAbs(work) && !within(i.Host.Home, work) && (within(filepath.Clean(file), work) || within(real, work)) {
		return "servers may write to the working directory " + work
	}
	if i.Untrusted == nil {
		return ""
	}
	return i.Untrusted(file)
}

// believe returns an error if a server may write a file that decides what is installed. what is the
// beginning of the error.
func (i *Installer) believe(what, file string) error {
	if why := i.untrusted(file); why != "" {
		return fmt.Errorf("%s %s is not used: %s, and could choose there what is installed. So nothing is installed. Take that grant from the server, or keep the file where no server may write", what, file, why)
	}
	return nil
}

// ignoredPaths returns a remark for an error that names the first directory of PATH that was left
// out, and why, or "".
func (i *Installer) ignoredPaths() string {
	for _, dir := range i.pathDirs() {
		if why := i.untrusted(dir); why != "" {
			return fmt.Sprintf(" (%s is left out: %s)", dir, why)
		}
	}
	return ""
}

// lookPath returns the program of a name in the directories of searchPath, or "". It leaves out a
// link to what a server may write.
func (i *Installer) lookPath(dirs []string, name string) string {
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && i.untrusted(file) == "" {
			return file
		}
	}
	return ""
}
