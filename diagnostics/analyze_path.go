package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzePath analyzes a path that a text names together with a fault.
func (a *analyzer) analyzePath(ref said.Reference) finding {
	if f := a.analyzeTilde(ref); f.refused {
		return f
	}
	path, ok := a.absolute(ref.Name)
	if !ok {
		return finding{}
	}
	link := path
	path = a.canonical(path)
	if ref.Bare && (a.exists(path) != present || path == link) {
		return finding{} // most likely a word of the sentence
	}
	f := a.withhold(a.forSocket(a.analyzeResolvedPath(path, ref), ref.IsConnect), ref.IsConnect)
	if f.refused && path != link {
		f.hint.Cause += a.linkText(link, path)
	}
	return f
}

// linkText says which part of a path in granted places is a link that leads out of them, or "".
// real is the path without links.
func (a *analyzer) linkText(path, real string) string {
	for at := 1; at <= len(path); at++ {
		if at < len(path) && path[at] != '/' {
			continue
		}
		link := filepath.Join(a.canonical(filepath.Dir(path[:at])), filepath.Base(path[:at]))
		leads := a.canonical(path[:at])
		if leads == link || a.isSystem(link) || !a.inWorkspace(link) && !a.isReadAbove(link) {
			continue
		}
		outside := ""
		if a.rightsAt(real) == 0 {
			outside = ", outside of what is granted"
		}
		return "; " + a.show(link) + " is a link that leads to " + a.show(leads) + outside
	}
	return ""
}

// analyzeResolvedPath analyzes a path whose links are resolved.
func (a *analyzer) analyzeResolvedPath(path string, ref said.Reference) finding {
	here := a.exists(path)
	missing := a.missingRights(path, ref, here)

	switch {
	case ref.Fault == said.Absent:
		return a.analyzeAbsentPath(path, ref, here, missing)
	case ref.Fault == said.Busy:
		return a.analyzeBusyPath(path)
	case a.isUnlisted(path, ref):
		return a.attributeCommand(Likely, a.commandName(path), "the server's message names "+a.show(path)+", which the policy's commands do not list")
	}
	if missing == 0 {
		return a.notRefused(path)
	}
	if a.isServerProgram(path) && !missing.Has(policy.Execute) {
		return finding{} // the program that wrote the line
	}
	if missing == policy.Execute && a.ev.Executable != nil && here == present && !a.ev.Executable(path) {
		return finding{note: a.show(path) + " cannot be executed on this host either", fix: "make it executable (chmod +x)"}
	}
	if here == absent && missing == policy.Read && ref.Want == 0 && ref.Fault == said.Refused && a.allows(policy.OpCreate, path) {
		missing |= policy.Write // the server creates the file and also opens it for reading
	}
	if e, _ := a.profile.Find(path); e.Rule == policy.UnsearchableRule {
		return a.notRefused(path) // the host does not let its user in either
	}
	if here == absent && (missing&policy.Write == 0 || ref.IsConnect || a.isForeignPath(path)) {
		// The host has no such file, so granting the path would grant nothing.
		return finding{note: a.show(path) + " cannot be seen on this host either"}
	}
	cause := "the server's message names " + a.show(path) + ", which the policy does not let it " + rightWord(missing)
	if ref.Database {
		missing |= policy.Write
	}
	if f, beside := a.attributeCompanion(Likely, path, missing, cause); beside {
		return f
	}
	switch {
	case ref.Want == policy.Delete, ref.Want == 0 && a.isUnremovable(path):
		return a.attributeParent(Likely, path, policy.Write, cause)
	case ref.Database:
		return a.attributeParent(Likely, path, policy.Read|policy.Write, cause)
	}
	return a.attributePath(Likely, path, missing, ref.IsMkdir, cause)
}

// forSocket narrows the grant for a socket to `update`, which is all that a connection
// needs of `write`, and adds a warning.
func (a *analyzer) forSocket(f finding, dials bool) finding {
	if dials && f.grant.path != "" {
		f.hint.Warning = a.hostSocket(f.grant.path)
	}
	if dials && f.grant.path != "" && f.grant.rights&policy.Write != 0 {
		f.grant.rights = f.grant.rights&^policy.Write | policy.Update
	}
	return f
}

// isForeignPath reports whether the host lacks even the first directory of path. The path
// then belongs to another machine or to a service.
func (a *analyzer) isForeignPath(path string) bool {
	first, _, deep := strings.Cut(path[1:], "/")
	return deep && a.exists("/"+first) == absent
}

// notRefused returns the note that the policy allows an access to path.
func (a *analyzer) notRefused(path string) finding {
	return finding{
		note: "the policy allows this access to " + a.show(path) + ": more likely the file's own permissions refuse it",
		fix:  "check the owner and mode of " + a.show(path),
	}
}

// isUnremovable reports whether a file may be written but not removed.
func (a *analyzer) isUnremovable(path string) bool {
	dir := a.rightsAt(filepath.Dir(path))
	return dir&policy.Write != 0 && !dir.Has(policy.Delete) && a.allows(policy.OpWrite, path)
}

// attributeParent returns the finding that a right on the parent directory is missing, so
// that a rule for path alone would not help: removing path, or creating the companions of
// a database.
func (a *analyzer) attributeParent(sure Attribution, path string, missing policy.Rights, cause string) finding {
	dir := filepath.Dir(path)
	if e, ok := a.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Update) || a.exists(dir) != present || a.whyShared(dir) != "" {
		return a.attributePath(sure, path, missing, false, cause)
	}
	f := a.attributePath(sure, dir, missing, false, cause)
	f.hint.Target = path
	if f.grant.path == dir {
		f.grant = a.alignFileRule(f.grant, path)
	}
	return f
}

// analyzeAbsentPath analyzes a path that the server did not find. Only a path that exists
// on the host points to the jail.
func (a *analyzer) analyzeAbsentPath(path string, ref said.Reference, here existence, missing policy.Rights) finding {
	switch here {
	case unknown:
		return finding{}
	case present:
		if missing == 0 {
			if private, _ := a.jailPlace(path); private != "" {
				right := policy.Read
				if ref.Want&policy.Write != 0 {
					right = policy.Write
				}
				return a.attributePath(Likely, path, right, false,
					"the server did not find "+a.show(path)+", which exists on the host: the jail has a "+private+" of its own")
			}
			return finding{}
		}
		if ref.FromShell && missing == policy.Read && a.ev.Executable != nil && a.ev.Executable(path) && a.exists(path+"/.") != present {
			missing |= policy.Execute // a shell names a program by its path to start it
		}
		return a.attributePath(Likely, path, missing, ref.IsMkdir,
			"the server did not find "+a.show(path)+", which exists on the host but is not granted")
	}
	// The host has no such file. Where its directory exists and the jail hides it,
	// creating the file fails with the same message as reading it.
	dir := filepath.Dir(path)
	if ref.IsMkdir && a.exists(dir) == present && missing&policy.Write != 0 {
		// node creates the directories above first and names only the last one.
		return a.attributePath(Likely, path, policy.Write, true,
			"the server could not make "+a.show(path)+": the policy does not let it make anything in "+a.show(dir))
	}
	if a.exists(dir) == present && a.rightsAt(dir) == 0 {
		if ref.Want&policy.Write != 0 && !ref.IsConnect {
			return a.attributePath(Likely, path, policy.Write, ref.IsMkdir,
				"the server could not make "+a.show(path)+": its directory exists on the host but is not granted")
		}
		return finding{
			note: a.show(path) + " does not exist on this host; its directory is not granted, so the server could not make it either",
		}
	}
	return finding{note: a.show(path) + " does not exist on this host either"}
}

// analyzeBusyPath analyzes a name that could not be moved, removed or replaced. The jail
// keeps the paths of rules and protected names in place, and the directories above them
// (docs/policy.md "Filesystem rules").
func (a *analyzer) analyzeBusyPath(path string) finding {
	if e, ok := a.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Write) {
		return a.attributePath(Likely, path, policy.Write, false, "the server's message names "+a.show(path)+", which the policy does not let it replace")
	}
	for _, e := range a.profile.Entries {
		if policy.Within(e.Path, path) && !a.allows(policy.OpRemove, path) && a.rightsAt(filepath.Dir(path)).Has(policy.Delete) {
			return finding{
				note: a.show(path) + " is or contains a name that the jail keeps in place: " + a.show(e.Path),
				fix:  "write to the file in place, or see " + a.planCommand() + " for the rules about it",
				hint: Hint{Attribution: Possible, Explain: PageFsMove},
			}
		}
	}
	return finding{}
}

// missingRights returns the right that the attempt needed and the profile does not give,
// or 0 when the profile gives all.
func (a *analyzer) missingRights(path string, ref said.Reference, here existence) policy.Rights {
	reads := a.allows(policy.OpRead, path)
	// Writing to a file that does not exist creates it.
	writes := here != absent && a.allows(policy.OpWrite, path) || here != present && a.allows(policy.OpCreate, path)
	if here == unknown { // allowed only if both writing and creating are
		writes = a.allows(policy.OpWrite, path) && (a.allows(policy.OpCreate, path) || a.isEntry(path))
	}
	allowed := func(ok bool, right policy.Rights) policy.Rights {
		if ok {
			return 0
		}
		return right
	}
	switch {
	case ref.Want.Has(policy.Execute):
		return policy.Execute &^ a.rightsAt(path)
	case ref.Want == policy.Write: // of ReadOnly: the attempt needed some right of Write
		return allowed(writes && a.rightsAt(filepath.Dir(path)).Has(policy.Create|policy.Delete), policy.Write)
	case ref.Want.Has(policy.Create):
		return allowed(a.allows(policy.OpCreate, path), policy.Write)
	case ref.Want.Has(policy.Delete):
		return allowed(a.allows(policy.OpRemove, path), policy.Write)
	case ref.Want.Has(policy.Update):
		return allowed(writes, policy.Write)
	case !reads:
		if ref.Want == 0 && here == absent && ref.Fault == said.Refused {
			if writes {
				return policy.Read // of a file that the server creates itself
			}
			return policy.Write // the file does not exist, so the server tried to create it
		}
		return policy.Read
	case ref.Want == 0 && ref.Fault == said.Refused && !ref.Vague && !a.isSystem(path):
		// The server may read and was refused, so it tried to write. For files of the
		// system that is not likely enough.
		if a.startRefused(path) {
			return 0 // that is what the server was refused
		}
		if writes && !a.isUnremovable(path) && ref.FromShell {
			return policy.Execute &^ a.rightsAt(path)
		}
		return allowed(writes && !a.isUnremovable(path), policy.Write)
	}
	return 0
}

// startRefused reports whether the jail recorded that it refused to start the file at path.
func (a *analyzer) startRefused(path string) bool {
	return slices.ContainsFunc(a.ev.Denials, func(d policy.Denial) bool {
		target, ok := a.absolute(d.Target)
		return d.Axis == policy.AxisProcess && said.RightsOf(d.Operation).Has(policy.Execute) && ok && target == path
	})
}

// attributePath returns the finding that path lacks a right, with the rule to add.
func (a *analyzer) attributePath(sure Attribution, path string, missing policy.Rights, makes bool, cause string) finding {
	f := a.attribute(sure, policy.AxisFs, path, rightWord(missing), cause, grant{})
	if makes && a.exists(path) == present {
		return a.attributeExistingDir(f, path)
	}
	if !expressible(path) {
		f.fix = "no rule can name it (line breaks, globs and invalid UTF-8 are refused): grant a directory above it"
		return f
	}
	if policy.Within(path, "/proc") {
		f.fix = "no rule grants it: the server has its own read-only /proc, or none"
		return f
	}
	f.grant, f.fix = a.pathGrant(path, missing, makes)
	if f.grant.isZero() {
		return f
	}
	f.hint.Warning = a.risk(f.grant.path, f.grant.rights)
	return f
}

// attributeExistingDir handles an attempt to create a directory that exists on the host. The
// attempt fails outside of the jail too, so it leads to no right to write. Later messages show what
// the server needs in the directory.
func (a *analyzer) attributeExistingDir(f finding, path string) finding {
	f.hint.Missing = rightWord(policy.Read)
	if a.allows(policy.OpRead, path) {
		f.fix = a.show(path) + " exists on the host: no line is needed to create it"
		return f
	}
	f.hint.Cause += ", which exists on the host and is not granted"
	if a.risk(path, policy.AllRights) != "" || a.isTooWide(path) || !expressible(path) {
		f.fix = "grant what the server needs in " + a.show(path) + ", not all of it"
		return f
	}
	f.grant = grant{path: path, rights: policy.Read | a.profile.RightsAt(path)}
	return f
}
