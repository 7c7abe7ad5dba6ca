package paths

import (
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/policy"
)

// risk returns a warning of what a rule for an absolute path would expose, or "". A server
// may name any path in order to get it granted, so a line for such a path always comes
// with the warning.
func risk(c *facts.Case, path string, rights policy.Rights) string {
	home := c.Evidence.UserHome
	entry, _ := c.Profile.Find(path)
	writes := rights&policy.Write != 0
	switch {
	case entry.Origin == policy.OriginSensitive && entry.Kind == policy.KindSpecial:
		return hostSocket(c, path)
	case IsSensitive(c, path):
		return c.Show(path) + " is a sensitive path: the line lets the server read what it holds (keys, tokens, passwords)"
	case writes && (entry.Origin == policy.OriginProtected || isReservedFile(c, path) || c.Profile.InGitInternals(path) || policy.HasProtectedName(path)):
		return c.Show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case path == "/":
		return "this is the whole filesystem"
	case home != "" && policy.Within(home, path):
		return "this is a whole home directory or more"
	}
	if writes {
		switch place := autorunPlace(c, path); {
		case place != "" && policy.Within(path, place):
			return "programs outside of the jail run or obey what is written to " + c.Show(path)
		case place != "":
			return c.Show(path) + " holds " + c.Show(place) + ": programs outside of the jail run or obey what is written there"
		case !inWorkspace(c, path) && systemDir(path):
			return c.Show(path) + " belongs to the system"
		}
	}
	if !inWorkspace(c, path) && isShared(c, path) {
		return c.Show(path) + " contains the files of many other programs"
	}
	return ""
}

func hostSocket(c *facts.Case, path string) string {
	return c.Show(path) + " is a socket of the host: the program that listens there is outside of the jail"
}

func inWorkspace(c *facts.Case, path string) bool {
	return c.Profile.Workspace != "" && policy.Within(path, c.Profile.Workspace)
}

// systemDir reports whether path belongs to the system. Files below /opt and /srv, and in
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
