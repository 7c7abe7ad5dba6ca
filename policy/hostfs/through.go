package hostfs

import (
	"os"
	"path"
	"path/filepath"
	"runtime"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
)

// Through reports whether an absolute path leads through a directory, or to it: a program that may write there can
// change each link on the way. The path may spell the directory in another way. Where it cannot be followed it counts
// as one that does, and so does a link of Windows: it may lead to another machine.
func Through(name, dir string) bool {
	if runtime.GOOS == "windows" {
		return throughOnWindows(name, dir)
	}
	f := localLinks()
	at, err := f.Resolve(name)
	to, errTo := f.Resolve(dir)
	if err != nil || errTo != nil || f.UpFromLink(name) != "" {
		return true
	}
	ways := []string{path.Clean(name), at.Path}
	for _, l := range at.Links {
		ways = append(ways, l.Path)
	}
	for _, way := range ways {
		for p := range Upward(way) {
			if p == to.Path || to.Exists() && f.Lstat(p).Info.ID == to.Info.ID {
				return true
			}
		}
	}
	return to.Path == "/"
}

func throughOnWindows(name, dir string) bool {
	if !winpath.HasDrive(name) {
		return true
	}
	to, failed := os.Stat(dir)
	for p := name; ; p = filepath.Dir(p) {
		info, err := os.Lstat(p)
		switch {
		case err != nil || info.Mode()&(os.ModeSymlink|os.ModeIrregular) != 0 || Within(runtime.GOOS, p, dir):
			return true
		case failed == nil && os.SameFile(info, to):
			return true
		case p == filepath.Dir(p):
			return false
		}
	}
}
