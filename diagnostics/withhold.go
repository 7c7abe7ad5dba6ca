package diagnostics

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// writeForbidden tells why no line is proposed that lets a server write to path or below
// it: programs outside of the jail run or obey that file, or the jail itself is built from
// it. It returns "" where no reason is known.
//
// Invariant: no proposed rule adds a right to write to such a place. No proposed rule adds
// one to a directory that contains such a place, except in the workspace, where the policy
// keeps protected names out of every grant.
func (a *analyzer) writeForbidden(path string) string {
	entry, _ := a.profile.Find(path)
	switch {
	case filepath.Base(path) == ".git" && a.exists(path+"/.") == present && !a.profile.InGitInternals(path):
		// The protected names in it stay protected.
	case entry.Origin == policy.OriginProtected, a.profile.InGitInternals(path), policy.HasProtectedName(path):
		return a.show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case a.isServerProgram(path):
		return a.show(path) + " is a file that the server is started from"
	case a.isSystem(path) && entry.Rights.Has(policy.Execute) && !a.isServerPackage(path), !a.inWorkspace(path) && !a.inUserHome(path) && systemDir(path) && !policy.Within(path, "/dev"):
		return a.show(path) + " belongs to the system"
	}
	if place := a.autorunPlace(path); place != "" && policy.Within(path, place) {
		return "programs outside of the jail run or obey what is written to " + a.show(path)
	} else if place != "" {
		return a.show(path) + " holds " + a.show(place) + ": programs outside of the jail run or obey what is written there"
	}
	if place := a.programIn(path); place != "" {
		return a.show(path) + " holds " + a.show(place) + ", which the server is started from"
	}
	return ""
}

// isProtectedName reports whether a file is one that programs outside of the jail run or obey. A grant
// for the directory around it leaves it protected.
func (a *analyzer) isProtectedName(path string) bool {
	entry, _ := a.profile.Find(path)
	place := a.autorunPlace(path)
	return entry.Origin == policy.OriginProtected || a.profile.InGitInternals(path) || policy.HasProtectedName(path) || place != "" && policy.Within(path, place)
}

// inUserHome reports whether path is in the user's home, which may itself be in a system
// directory.
func (a *analyzer) inUserHome(path string) bool {
	return a.ev.UserHome != "" && a.ev.UserHome != "/" && policy.Within(path, a.ev.UserHome)
}

// isServerProgram reports whether the server is started from path, or path is in a
// directory where such programs are installed.
func (a *analyzer) isServerProgram(path string) bool {
	p := a.profile
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !a.inWorkspace(path) && policy.Within(path, part.Path))
	})
}

// isServerPackage reports whether path is in a package or project of the server, which
// also contains files other than programs.
func (a *analyzer) isServerPackage(path string) bool {
	return slices.ContainsFunc(a.profile.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
}

// programIn returns a program of the server that a directory outside of the workspace
// contains, or "".
func (a *analyzer) programIn(dir string) string {
	if a.inWorkspace(dir) {
		return ""
	}
	if a.profile.Program != "" && policy.Within(a.profile.Program, dir) {
		return a.profile.Program
	}
	for _, part := range a.profile.Parts {
		if policy.Within(part.Path, dir) && part.Path != "" {
			return part.Path
		}
	}
	return ""
}

// withhold removes a grant that must not be proposed and gives the reason instead. Text of
// a server without a record of the jail never leads to a grant for secrets.
func (a *analyzer) withhold(f finding, dials bool) finding {
	n := f.grant
	if n.path == "" {
		return f
	}
	why := ""
	if !dials && (n.rights&^a.profile.RightsAt(n.path)&policy.Write != 0 || n.rights&policy.Write != 0 && a.isReserved(n.path)) {
		why = a.writeForbidden(n.path)
	}
	if why == "" {
		why = a.guarded(n) // no way to grant it is told
	}
	if why == "" && (f.hint.Attribution != Certain || dials) && a.isSensitive(n.path) {
		of := "a mere message of the server"
		if dials {
			of = "a socket there, behind which keys are used"
		}
		why = a.show(n.path) + " is a sensitive path; mcp-jail proposes no such grant for " + of + ". " + a.grantByHand()
	}
	if why == "" && f.hint.Attribution != Certain && a.isWholeHome(n.path) {
		why = a.show(n.path) + " is a whole home directory or more; mcp-jail proposes no such grant for a mere message of the server. " + a.grantByHand()
	}
	if why == "" {
		return f
	}
	f.grant, f.hint.Warning = grant{}, ""
	f.fix = "no line is proposed for it: " + why
	return f
}

// isWholeHome reports whether path is the home directory of any user, or contains one.
func (a *analyzer) isWholeHome(path string) bool {
	parent := filepath.Dir(path)
	return path == "/" || path == "/root" || path == "/home" || path == "/Users" || parent == "/home" || parent == "/Users" || a.ev.UserHome != "" && policy.Within(a.ev.UserHome, path)
}

// isSensitive reports whether path holds keys, tokens or passwords, or is a directory of
// them.
func (a *analyzer) isSensitive(path string) bool {
	entry, _ := a.profile.Find(path)
	return entry.Origin == policy.OriginSensitive && entry.Kind != policy.KindSpecial || a.ev.Sensitive != nil && a.ev.Sensitive(path) != ""
}

// grantByHand says how a user grants a path for which no line is proposed.
func (a *analyzer) grantByHand() string {
	if a.ev.FromCommandLine {
		text := "To grant it, name it in a flag of its own, such as --read"
		if a.profile.Default && a.profile.Workspace != "" {
			text += "; add --write . to keep the workspace"
		}
		return text
	}
	return "To grant it, write a rule that names it"
}
