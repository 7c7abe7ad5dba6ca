package hostfs

import (
	"path"
	"slices"
	"strings"
)

// SearchPath returns the directories in which programs of the user are looked up, absolute and clean:
// those of PATH, without relative and empty components. On macOS, a client with a window has the system's
// directories alone in PATH, so the places of Homebrew, of installers and of MacPorts come after it.
func (h *Host) SearchPath() (dirs []string) {
	value, _ := h.Getenv("PATH")
	all := strings.Split(value, ":")
	if h.OS == "darwin" {
		all = append(all, "/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin")
	}
	for _, d := range all {
		if !strings.HasPrefix(d, "/") {
			continue
		}
		if d = path.Clean(d); !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
