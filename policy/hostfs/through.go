package hostfs

import (
	"os"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// mostLinks bounds the links that a path leads through. No kernel follows more.
const mostLinks = 255

// Through reports whether an absolute path leads through a directory, or to it. It follows links one
// by one: a program that may write to dir can change each link in it. The path may spell dir in
// another way.
func Through(name, dir string) bool {
	info, err := os.Stat(dir)
	at, todo := "/", strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		at, todo = path.Join(at, todo[0]), todo[1:]
		if policy.Within(at, dir) {
			return true
		}
		if here, failed := os.Stat(at); err == nil && failed == nil && os.SameFile(here, info) {
			return true
		}
		target, failed := os.Readlink(at)
		if failed != nil {
			continue
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
