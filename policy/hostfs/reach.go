package hostfs

import (
	"io/fs"
	"os"
	"runtime"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Trace follows a path of this machine, and tells each symbolic link that it crosses.
func Trace(p string) (real string, links []policy.Link, err error) {
	at, err := NewFinder(&Host{Lstat: lstat, Readlink: os.Readlink, OS: runtime.GOOS}).Find(p)
	if err == nil && !at.Exists() {
		err = fs.ErrNotExist
	}
	return at.Path, at.Links, err
}
