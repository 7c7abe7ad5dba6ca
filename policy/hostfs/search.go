package hostfs

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
)

// SplitList returns the items of a list of paths, such as PATH, on a system as in runtime.GOOS.
func SplitList(system, list string) []string {
	if system == "windows" {
		return winpath.SplitList(list)
	}
	return strings.Split(list, ":")
}

// SearchPath returns the directories in which programs of the user are looked up, absolute and clean:
// those of PATH, without relative and empty components. On macOS, a client with a window has the system's
// directories alone in PATH, so the places of Homebrew, of installers and of MacPorts come after it. On
// Windows, a directory that [winpath.Clean] refuses is left out.
func (h *Host) SearchPath() (dirs []string) {
	value, _ := h.Getenv("PATH")
	all := SplitList(h.OS, value)
	if h.OS == "darwin" {
		all = append(all, "/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin")
	}
	for _, d := range all {
		var err error
		switch {
		case h.OS == "windows":
			if d, err = winpath.Clean(d); err != nil {
				continue
			}
		case !strings.HasPrefix(d, "/"):
			continue
		default:
			d = path.Clean(d)
		}
		same := func(known string) bool { return known == d || h.OS == "windows" && strings.EqualFold(known, d) }
		if !slices.ContainsFunc(dirs, same) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
