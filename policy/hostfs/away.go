package hostfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
)

// CheckAway returns a [*winpath.AwayError] if this is Windows, and an absolute path below a directory
// leads to another machine. The directory itself is one that this process or the user has gone to. It
// looks at no other machine. The path may change after it.
func CheckAway(dir, path string) error {
	if runtime.GOOS != "windows" {
		return nil
	}
	return winpath.Way{
		Lstat: func(path string) (fs.FileMode, error) {
			info, err := os.Lstat(path)
			if err != nil {
				return 0, err
			}
			return info.Mode(), nil
		},
		Readlink: os.Readlink,
	}.Check(dir, path)
}

// CheckForm returns an error if this is Windows, and the absolute path of a file or directory that the user
// names has a form that mcp-jail does not take there, such as that of another machine or of a device.
func CheckForm(path string) error {
	if runtime.GOOS != "windows" {
		return nil
	}
	return winpath.CheckFile(path)
}

// Spelled returns the one spelling of an absolute path under which mcp-jail keeps what belongs to it. On
// Windows many spellings are one directory: drives and names have no case, there are short names, and
// slashes count as backslashes. The spelling is that of the drive itself, without links, as far as the
// path exists. On another system the path stays: its directories tell apart what is spelled differently, or
// see [LinkResolver.Canonical].
func Spelled(path string) string {
	if runtime.GOOS != "windows" {
		return path
	}
	return winpath.Spelled(path, filepath.EvalSymlinks)
}
