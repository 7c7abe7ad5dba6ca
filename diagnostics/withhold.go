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
func (j *analyzer) writeForbidden(path string) string {
	entry, _ := j.profile.Find(path)
	switch {
	case filepath.Base(path) == ".git" && j.exists(path+"/.") == present && !inGitInternals(path):
		// What of it is protected stays so.
	case entry.Origin == policy.OriginProtected, inGitInternals(path), isProtectedName(path):
		return j.show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case j.isServerProgram(path):
		return j.show(path) + " is a program that the server is made of"
	case j.isSystem(path) && entry.Rights.Has(policy.Execute) && !j.isServerPackage(path), !j.inWorkspace(path) && !j.inUserHome(path) && systemDir(path) && !policy.Within(path, "/dev"):
		return j.show(path) + " belongs to the system"
	}
	if place := j.autorunPlace(path); place != "" && policy.Within(path, place) {
		return "programs outside of the jail run or obey what is written to " + j.show(path)
	} else if place != "" {
		return j.show(path) + " holds " + j.show(place) + ": programs outside of the jail run or obey what is written there"
	}
	if place := j.programIn(path); place != "" {
		return j.show(path) + " holds " + j.show(place) + ", a program that the server is made of"
	}
	return ""
}

// inUserHome tells what lies in the user's home, also where that is one of the system's
// directories.
func (j *analyzer) inUserHome(path string) bool {
	return j.ev.UserHome != "" && j.ev.UserHome != "/" && policy.Within(path, j.ev.UserHome)
}

// isServerProgram tells a file that the server is started from, or a place where such are
// installed.
func (j *analyzer) isServerProgram(path string) bool {
	p := j.profile
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !j.inWorkspace(path) && policy.Within(path, part.Path))
	})
}

// isServerPackage tells what lies in a package or project that the server is made of: there are
// other files in it than programs.
func (j *analyzer) isServerPackage(path string) bool {
	return slices.ContainsFunc(j.profile.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
}

// programIn is what of the server's program a directory outside of the workspace holds.
func (j *analyzer) programIn(dir string) string {
	if j.inWorkspace(dir) {
		return ""
	}
	if j.profile.Program != "" && policy.Within(j.profile.Program, dir) {
		return j.profile.Program
	}
	for _, part := range j.profile.Parts {
		if policy.Within(part.Path, dir) && part.Path != "" {
			return part.Path
		}
	}
	return ""
}

// withhold takes a line back that must not be proposed, and says why in its place. What
// a server says, without a record of the jail, gets it no secrets.
func (j *analyzer) withhold(v finding, dials bool) finding {
	n := v.grant
	if n.path == "" {
		return v
	}
	why := ""
	if !dials && (n.rights&^j.profile.RightsAt(n.path)&policy.Write != 0 || n.rights&policy.Write != 0 && j.isReserved(n.path)) {
		why = j.writeForbidden(n.path)
	}
	if why == "" && v.hint.Attribution != Certain && !dials && j.isSensitive(n.path) {
		why = j.show(n.path) + " is a sensitive path, and that the server names it is no reason to show it: if it is meant, write a rule that names it"
	}
	if why == "" && v.hint.Attribution != Certain && j.isWholeHome(n.path) {
		why = j.show(n.path) + " is a whole home directory or more, and that the server names it is no reason to show it: if it is meant, write a rule that names it"
	}
	if why == "" {
		return v
	}
	v.grant, v.hint.Warning = grant{}, ""
	v.fix = "no line is proposed for it: " + why
	return v
}

// isWholeHome tells a home directory, of any user, and what holds one.
func (j *analyzer) isWholeHome(path string) bool {
	parent := filepath.Dir(path)
	return path == "/" || path == "/root" || path == "/home" || path == "/Users" || parent == "/home" || parent == "/Users" || j.ev.UserHome != "" && policy.Within(j.ev.UserHome, path)
}

// isSensitive tells a path that holds keys, tokens or passwords, or a directory of them.
func (j *analyzer) isSensitive(path string) bool {
	entry, _ := j.profile.Find(path)
	return entry.Origin == policy.OriginSensitive && entry.Kind != policy.KindSpecial || isSensitiveName(path, j.ev.UserHome)
}
