package diagnostics

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
)

// writeForbidden says why no line is proposed that would let a server write to path, or
// below it: programs outside of the jail run or obey what is there, or its own jail is
// built around it. "" where nothing is known.
//
// Invariant: no rule that a diagnosis proposes gives a right to write, which the policy
// did not give before, to such a place; and none to a directory that holds one, but in
// the workspace, where the policy keeps protected names out of every grant.
func (a *analyzer) writeForbidden(path string) string {
	entry, _ := a.profile.Find(path)
	switch {
	case filepath.Base(path) == ".git" && a.exists(path+"/.") == present && !inGitInternals(path):
		// What of it is protected stays so.
	case entry.Origin == policy.OriginProtected, inGitInternals(path), isProtectedName(path):
		return a.show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case a.isServerProgram(path):
		return a.show(path) + " is a program that the server is made of"
	case a.isSystem(path) && entry.Rights.Has(policy.Execute) && !a.isServerPackage(path), !a.inWorkspace(path) && !a.inUserHome(path) && systemDir(path) && !policy.Within(path, "/dev"):
		return a.show(path) + " belongs to the system"
	}
	if place := a.autorunPlace(path); place != "" && policy.Within(path, place) {
		return "programs outside of the jail run or obey what is written to " + a.show(path)
	} else if place != "" {
		return a.show(path) + " holds " + a.show(place) + ": programs outside of the jail run or obey what is written there"
	}
	if place := a.programIn(path); place != "" {
		return a.show(path) + " holds " + a.show(place) + ", a program that the server is made of"
	}
	return ""
}

// inUserHome tells what lies in the user's home, also where that is one of the system's
// directories.
func (a *analyzer) inUserHome(path string) bool {
	return a.ev.UserHome != "" && a.ev.UserHome != "/" && policy.Within(path, a.ev.UserHome)
}

// isServerProgram tells a file that the server is started from, or a place where such are
// installed.
func (a *analyzer) isServerProgram(path string) bool {
	p := a.profile
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !a.inWorkspace(path) && policy.Within(path, part.Path))
	})
}

// isServerPackage tells what lies in a package or project that the server is made of: there are
// other files in it than programs.
func (a *analyzer) isServerPackage(path string) bool {
	return slices.ContainsFunc(a.profile.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
}

// programIn is what of the server's program a directory outside of the workspace holds.
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

// withhold takes a line back that must not be proposed, and says why in its place. What
// a server says, without a record of the jail, gets it no secrets.
func (a *analyzer) withhold(f finding, dials bool) finding {
	n := f.grant
	if n.path == "" {
		return f
	}
	why := ""
	if !dials && (n.rights&^a.profile.RightsAt(n.path)&policy.Write != 0 || n.rights&policy.Write != 0 && a.isReserved(n.path)) {
		why = a.writeForbidden(n.path)
	}
	if why == "" && f.hint.Attribution != Certain && !dials && a.isSensitive(n.path) {
		why = a.show(n.path) + " is a sensitive path, and that the server names it is no reason to show it: if it is meant, write a rule that names it"
	}
	if why == "" && f.hint.Attribution != Certain && a.isWholeHome(n.path) {
		why = a.show(n.path) + " is a whole home directory or more, and that the server names it is no reason to show it: if it is meant, write a rule that names it"
	}
	if why == "" {
		return f
	}
	f.grant, f.hint.Warning = grant{}, ""
	f.fix = "no line is proposed for it: " + why
	return f
}

// isWholeHome tells a home directory, of any user, and what holds one.
func (a *analyzer) isWholeHome(path string) bool {
	parent := filepath.Dir(path)
	return path == "/" || path == "/root" || path == "/home" || path == "/Users" || parent == "/home" || parent == "/Users" || a.ev.UserHome != "" && policy.Within(a.ev.UserHome, path)
}

// isSensitive tells a path that holds keys, tokens or passwords, or a directory of them.
func (a *analyzer) isSensitive(path string) bool {
	entry, _ := a.profile.Find(path)
	return entry.Origin == policy.OriginSensitive && entry.Kind != policy.KindSpecial || isSensitiveName(path, a.ev.UserHome)
}
