package hostfs

import (
	"io/fs"
	"os"
	"runtime"

	"github.com/mcp-jail/mcp-jail/policy"
)

// ResolveLinks follows a path of this machine, and tells each symbolic link that it crosses.
func ResolveLinks(p string) (real string, links []policy.Link, err error) {
	at, err := NewLinkResolver(&Host{Lstat: lstat, Readlink: os.Readlink, OS: runtime.GOOS}).Resolve(p)
	if err == nil && !at.Exists() {
		err = fs.ErrNotExist
	}
	return at.Path, at.Links, err
}
