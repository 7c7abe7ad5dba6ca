package paths

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/policy"
)

func inWorkspace(c *facts.Case, path string) bool {
	return c.Profile.Workspace != "" && policy.Within(path, c.Profile.Workspace)
}

// systemDir and isShared say nothing of harm: they decide whether the directory around a file is proposed for the sake of
// it. systemDir reports whether path belongs to the system. Files below /opt and /srv, and in
// much of /var, belong to other owners.
func systemDir(path string) bool {
	switch path {
	case "/opt", "/private/var", "/srv", "/var":
		return true
	}
	for _, dir := range []string{
		"/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr",
		"/var/cache", "/var/lib", "/var/log", "/var/mail", "/var/run", "/var/spool", "/Applications", "/Library", "/System", "/private/etc",
	} {
		if policy.Within(path, dir) {
			return true
		}
	}
	return false
}

// sharedPaths are directories of a home in which many programs keep their files.
var sharedPaths = []string{".config", ".local", ".local/share", ".local/state", ".local/lib", ".cache", ".var", ".var/app", "snap", "Library", "Library/Application Support", "Library/Caches", "Library/Preferences"}

func isShared(c *facts.Case, dir string) bool {
	switch dir {
	case "/home", "/Users", "/Volumes", "/mnt", "/media", "/private", "/tmp", "/var/tmp", "/private/tmp":
		return true
	}
	return filepath.Dir(dir) == "/" && systemDir(dir) || slices.ContainsFunc(sharedPaths, func(name string) bool {
		place := filepath.Join(c.Evidence.UserHome, name)
		return c.Evidence.UserHome != "" && (dir == place || dir == c.Canonical(place))
	})
}
