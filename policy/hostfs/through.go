package hostfs

import (
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
)

// mostLinks bounds the links that a path leads through. No kernel follows more.
const mostLinks = 255

// Through reports whether an absolute path leads through a directory, or to it. It follows links one
// by one: a program that may write to dir can change each link in it. The path may spell dir in
// another way. On Windows, a link to another machine counts as one that leads there: it is not looked at.
func Through(name, dir string) bool {
	info, failed := os.Stat(dir)
	w := walk{system: runtime.GOOS, readlink: os.Readlink, is: func(at string) bool {
		look := os.Stat
		if runtime.GOOS == "windows" {
			look = os.Lstat // so that nothing is asked of another machine
		}
		here, err := look(at)
		return err == nil && failed == nil && os.SameFile(here, info)
	}}
	return w.through(name, dir)
}

// A walk follows a path on a system as in runtime.GOOS.
type walk struct {
	system   string
	is       func(at string) bool // reports whether a path, perhaps a link, is the directory that is looked for
	readlink func(at string) (string, error)
}

func (w walk) through(name, dir string) bool {
	if w.system == "windows" {
		if !winpath.HasDrive(name) {
			return true
		}
		name = winpath.Slashed(name)
	}
	at, todo := "/", strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		at, todo = path.Join(at, todo[0]), todo[1:]
		native := at
		if w.system == "windows" {
			ok := false
			if native, ok = winpath.FromSlashed(at); !ok {
				continue // above the drives
			}
		}
		if Within(w.system, native, dir) || w.is(native) {
			return true
		}
		target, err := w.readlink(native)
		if err != nil {
			continue
		}
		if w.system == "windows" {
			var away bool
			if target, away = linkOnDrive(native, target); away {
				return true
			}
			if target == "" {
				continue
			}
		}
		if links++; links > mostLinks {
			return true
		}
		todo = append(strings.Split(target, "/"), todo...)
		if at = path.Dir(at); path.IsAbs(target) {
			at = "/"
		}
	}
	return false
}

// linkOnDrive returns where a link of Windows leads, with slashes, or "" for the root of another volume, which
// is a directory like others. away reports that it leads to no drive of this machine.
func linkOnDrive(link, target string) (to string, away bool) {
	target = strings.ReplaceAll(target, "/", `\`)
	for _, prefix := range []string{`\??\`, `\\?\`} {
		if rest, ok := strings.CutPrefix(target, prefix); ok {
			if strings.HasPrefix(strings.ToLower(rest), "volume{") {
				return "", false
			}
			if target = rest; !winpath.HasDrive(rest) {
				return "", true
			}
		}
	}
	switch {
	case winpath.HasDrive(target):
	case strings.HasPrefix(target, `\\`), len(target) > 1 && target[1] == ':': // the last is of a working directory
		return "", true
	case strings.HasPrefix(target, `\`):
		target = link[:2] + target
	}
	return winpath.Slashed(target), false
}
