package diagnostics

import (
	"github.com/mcp-jail/mcp-jail/policy"
)

// risk returns a warning of what a rule for an absolute path would expose, or "". A server
// may name any path in order to get it granted, so a line for such a path always comes
// with the warning.
func (a *analyzer) risk(path string, rights policy.Rights) string {
	home := a.ev.UserHome
	entry, _ := a.profile.Find(path)
	writes := rights&policy.Write != 0
	switch {
	case entry.Origin == policy.OriginSensitive && entry.Kind == policy.KindSpecial:
		return a.hostSocket(path)
	case a.isSensitive(path):
		return a.show(path) + " is a sensitive path: the line lets the server read what it holds (keys, tokens, passwords)"
	case writes && (entry.Origin == policy.OriginProtected || a.isReservedFile(path) || a.profile.InGitInternals(path) || policy.HasProtectedName(path)):
		return a.show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case path == "/":
		return "this is the whole filesystem"
	case home != "" && policy.Within(home, path):
		return "this is a whole home directory or more"
	}
	if writes {
		switch place := a.autorunPlace(path); {
		case place != "" && policy.Within(path, place):
			return "programs outside of the jail run or obey what is written to " + a.show(path)
		case place != "":
			return a.show(path) + " holds " + a.show(place) + ": programs outside of the jail run or obey what is written there"
		case !a.inWorkspace(path) && systemDir(path):
			return a.show(path) + " belongs to the system"
		}
	}
	if !a.inWorkspace(path) && a.isShared(path) {
		return a.show(path) + " contains the files of many other programs"
	}
	return ""
}

func (a *analyzer) hostSocket(path string) string {
	return a.show(path) + " is a socket of the host: the program that listens there is outside of the jail"
}

func (a *analyzer) inWorkspace(path string) bool {
	return a.profile.Workspace != "" && policy.Within(path, a.profile.Workspace)
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
