package places

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// The paths of a Windows are those of a host that [hostfs.Host.Slashed] has made, such as /C:/Users/u.

// onDrive returns a path of Windows with slashes. One that begins with a backslash is on the drive of the
// directory to which it is relative. So is one of that drive without a backslash, in that directory.
func onDrive(h *hostfs.Host, p, dir string) string {
	if _, ok := winpath.FromSlashed(dir); !ok {
		dir = h.Dir
	}
	drive, ok := winpath.FromSlashed(dir[:min(3, len(dir))])
	if len(p) > 1 && p[1] == ':' && (len(p) == 2 || p[2] != '\\' && p[2] != '/') && ok && strings.EqualFold(p[:2], drive[:2]) {
		return path.Join(dir, winpath.Slashed("./"+p[2:]))
	}
	p = winpath.Slashed(p)
	if _, whole := winpath.FromSlashed(p); strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "//") && !whole && ok {
		return dir[:3] + strings.TrimSuffix(p, "/")
	}
	return p
}

// isPlaceOfWindows reports whether a directory of a Windows belongs to the system, or to all users.
func isPlaceOfWindows(dir string) bool {
	native, ok := winpath.FromSlashed(dir)
	if !ok {
		return true // on another machine, or the root above the drives
	}
	first, below, _ := strings.Cut(strings.ToLower(native[3:]), `\`)
	switch first {
	case "", "windows", "program files", "program files (x86)", "programdata", "$recycle.bin", "recovery", "system volume information", "perflogs":
		return true
	case "users":
		return slices.Contains([]string{"", "public", "default", "all users"}, below)
	}
	return false
}
