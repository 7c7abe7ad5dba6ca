package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzePath judges a path that a text names together with a fault.
func (j *analyzer) analyzePath(m reference) finding {
	path, ok := j.absolute(m.name)
	if !ok {
		return finding{}
	}
	link := path
	path = j.canonical(path)
	if m.bare && (j.exists(path) != present || path == link) {
		return finding{} // a word of the sentence, for all that is known
	}
	v := j.withhold(j.forSocket(j.analyzeResolvedPath(path, m), m.isConnect), m.isConnect)
	if v.refused && path != link && j.inWorkspace(link) {
		v.hint.Cause += "; " + j.show(link) + " leads there"
	}
	return v
}

// analyzeResolvedPath judges what the path of a text leads to.
func (j *analyzer) analyzeResolvedPath(path string, m reference) finding {
	here := j.exists(path)
	missing := j.missingRights(path, m, here)

	switch {
	case m.fault == faultAbsent:
		return j.analyzeAbsentPath(path, m, here, missing)
	case m.fault == faultBusy:
		return j.analyzeBusyPath(path)
	case j.isUnlisted(path, m):
		return j.attributeCommand(Likely, j.commandName(path), "the server's message names "+j.show(path)+", which the policy's commands do not list")
	}
	if missing == 0 {
		return j.notRefused(path)
	}
	if j.isServerProgram(path) && !missing.Has(policy.Execute) {
		return finding{} // who speaks, and not what it speaks of
	}
	if missing == policy.Execute && j.ev.Executable != nil && here == present && !j.ev.Executable(path) {
		return finding{note: j.show(path) + " cannot be executed on this host either", fix: "make it executable (chmod +x)"}
	}
	if here == absent && missing == policy.Read && m.want == 0 && m.fault == faultRefused && j.allows(policy.OpCreate, path) {
		missing |= policy.Write // it made the file, and opened it for reading, too
	}
	if e, _ := j.profile.Find(path); e.Rule == policy.Unsearched {
		return j.notRefused(path) // nor does the host let its user in
	}
	if here == absent && (missing&policy.Write == 0 || m.isConnect || j.isForeignPath(path)) {
		// The host has no such file, so granting the path would grant nothing.
		return finding{note: j.show(path) + " cannot be seen on this host either"}
	}
	cause := "the server's message names " + j.show(path) + ", which the policy does not let it " + rightWord(missing)
	if m.database {
		missing |= policy.Write
	}
	if v, beside := j.attributeCompanion(Likely, path, missing, cause); beside {
		return v
	}
	switch {
	case m.want == policy.Delete, m.want == 0 && j.isUnremovable(path):
		return j.attributeParent(Likely, path, policy.Write, cause)
	case m.database:
		return j.attributeParent(Likely, path, policy.Read|policy.Write, cause)
	}
	return j.attributePath(Likely, path, missing, m.isMkdir, cause)
}

// forSocket narrows the line for a socket, which takes `update` and nothing else of what
// `write` is short for, and says what it gives away.
func (j *analyzer) forSocket(v finding, dials bool) finding {
	if dials && v.grant.path != "" {
		v.hint.Warning = j.hostSocket(v.grant.path)
	}
	if dials && v.grant.path != "" && v.grant.rights&policy.Write != 0 {
		v.grant.rights = v.grant.rights&^policy.Write | policy.Update
	}
	return v
}

// isForeignPath tells a path of which the host does not even have the beginning: it is one of
// another machine, or of a service's own.
func (j *analyzer) isForeignPath(path string) bool {
	first, _, deep := strings.Cut(path[1:], "/")
	return deep && j.exists("/"+first) == absent
}

// notRefused is the note about a path of which the policy refuses nothing.
func (j *analyzer) notRefused(path string) finding {
	return finding{
		note: "the policy allows this access to " + j.show(path) + ": the refusal is more likely one of the file's own permissions",
		fix:  "look at the owner and mode of " + j.show(path),
	}
}

// isUnremovable tells a file that may be written and not be removed.
func (j *analyzer) isUnremovable(path string) bool {
	dir := j.rightsAt(filepath.Dir(path))
	return dir&policy.Write != 0 && !dir.Has(policy.Delete) && j.allows(policy.OpWrite, path)
}

// attributeParent is the verdict that a right on the directory that holds path is
// missing, so that a rule for path alone would not help: to remove the name, or to
// keep what belongs to a database beside it.
func (j *analyzer) attributeParent(a Attribution, path string, missing policy.Rights, cause string) finding {
	dir := filepath.Dir(path)
	if e, ok := j.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Update) || j.exists(dir) != present || j.isTooWide(dir) {
		return j.attributePath(a, path, missing, false, cause)
	}
	v := j.attributePath(a, dir, missing, false, cause)
	v.hint.Target = path
	if v.grant.path == dir {
		v.grant = j.alignFileRule(v.grant, path)
	}
	return v
}

// analyzeAbsentPath judges a path that the server did not find. Only one that is there
// on the host tells anything about the jail.
func (j *analyzer) analyzeAbsentPath(path string, m reference, here existence, missing policy.Rights) finding {
	switch here {
	case unknown:
		return finding{}
	case present:
		if missing == 0 {
			if private, _ := j.jailPlace(path); private != "" {
				right := policy.Read
				if m.want&policy.Write != 0 {
					right = policy.Write
				}
				return j.attributePath(Likely, path, right, false,
					"the server did not find "+j.show(path)+", which exists on the host: the jail has a "+private+" of its own")
			}
			return finding{}
		}
		if m.fromShell && missing == policy.Read && j.ev.Executable != nil && j.ev.Executable(path) && j.exists(path+"/.") != present {
			missing |= policy.Execute // a program by its path is there to be started
		}
		return j.attributePath(Likely, path, missing, m.isMkdir,
			"the server did not find "+j.show(path)+", which exists on the host but is not granted")
	}
	// Not there on the host. When the directory is, and the jail does not show it,
	// making the file there fails with the same words as reading what never was.
	dir := filepath.Dir(path)
	if m.isMkdir && j.exists(dir) == present && missing&policy.Write != 0 {
		// node makes the directories above first, and tells of the last one only.
		return j.attributePath(Likely, path, policy.Write, true,
			"the server could not make "+j.show(path)+": the policy does not let it make anything in "+j.show(dir))
	}
	if j.exists(dir) == present && j.rightsAt(dir) == 0 {
		if m.want&policy.Write != 0 && !m.isConnect {
			return j.attributePath(Likely, path, policy.Write, m.isMkdir,
				"the server could not make "+j.show(path)+": its directory exists on the host but is not granted")
		}
		return finding{
			note: j.show(path) + " does not exist on this host; its directory is not granted, so the server could not make it either",
		}
	}
	return finding{note: j.show(path) + " does not exist on this host either"}
}

// analyzeBusyPath judges a name that could not be moved, removed or replaced. The jail
// keeps those in place that a rule or a protected name is about, and the
// directories on the way to them (docs/policy.md "Filesystem rules").
func (j *analyzer) analyzeBusyPath(path string) finding {
	if e, ok := j.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Write) {
		return j.attributePath(Likely, path, policy.Write, false, "the server's message names "+j.show(path)+", which the policy does not let it replace")
	}
	for _, e := range j.profile.Entries {
		if policy.Within(e.Path, path) && !j.allows(policy.OpRemove, path) && j.rightsAt(filepath.Dir(path)).Has(policy.Delete) {
			return finding{
				note: j.show(path) + " is, or holds, a name that the jail keeps in place: " + j.show(e.Path),
				fix:  "write what is there in place, or see " + j.planCommand() + " for the rules about it",
				hint: Hint{Attribution: Possible},
			}
		}
	}
	return finding{}
}

// missingRights is the right that the attempt needed and the profile does not give; 0
// when it gives all.
func (j *analyzer) missingRights(path string, m reference, here existence) policy.Rights {
	reads := j.allows(policy.OpRead, path)
	// Writing to what does not exist is making it.
	writes := here != absent && j.allows(policy.OpWrite, path) || here != present && j.allows(policy.OpCreate, path)
	if here == unknown { // both have to be allowed before it is said that they are
		writes = j.allows(policy.OpWrite, path) && (j.allows(policy.OpCreate, path) || j.isEntry(path))
	}
	allowed := func(ok bool, right policy.Rights) policy.Rights {
		if ok {
			return 0
		}
		return right
	}
	switch {
	case m.want.Has(policy.Execute):
		return policy.Execute &^ j.rightsAt(path)
	case m.want == policy.Write: // read-only: any of the three
		return allowed(writes && j.rightsAt(filepath.Dir(path)).Has(policy.Create|policy.Delete), policy.Write)
	case m.want.Has(policy.Create):
		return allowed(j.allows(policy.OpCreate, path), policy.Write)
	case m.want.Has(policy.Delete):
		return allowed(j.allows(policy.OpRemove, path), policy.Write)
	case m.want.Has(policy.Update):
		return allowed(writes, policy.Write)
	case !reads:
		if m.want == 0 && here == absent && m.fault == faultRefused {
			if writes {
				return policy.Read // of what it makes itself
			}
			return policy.Write // what does not exist is not read: this was a creation
		}
		return policy.Read
	case m.want == 0 && m.fault == faultRefused && !m.vague && !j.isSystem(path):
		// It may read and was refused: it wanted to write, if anything. Of the
		// system's files that is not likely enough.
		if writes && !j.isUnremovable(path) && m.fromShell {
			return policy.Execute &^ j.rightsAt(path)
		}
		return allowed(writes && !j.isUnremovable(path), policy.Write)
	}
	return 0
}

// attributePath is the verdict that path lacks a right, with the rule to add.
func (j *analyzer) attributePath(a Attribution, path string, missing policy.Rights, makes bool, cause string) finding {
	v := j.attribute(a, policy.AxisFs, path, rightWord(missing), cause, grant{})
	if makes && j.exists(path) == present {
		return j.attributeExistingDir(v, path)
	}
	if !expressible(path) {
		v.fix = "no rule can name it (line breaks, globs and bytes that are no UTF-8 are refused): grant a directory above it"
		return v
	}
	if policy.Within(path, "/proc") {
		v.fix = "no rule grants it: the server has a /proc of its own, which is read-only, or none"
		return v
	}
	v.grant, v.fix = j.pathGrant(path, missing, makes)
	if v.grant.isZero() {
		return v
	}
	v.hint.Warning = j.risk(v.grant.path, v.grant.rights)
	return v
}

// attributeExistingDir is the verdict about the attempt to make a directory that is there on
// the host. Outside of the jail that fails as well, so it asks for no right to write,
// and what a server wants of a directory it can say with a name in it.
func (j *analyzer) attributeExistingDir(v finding, path string) finding {
	v.hint.Missing = rightWord(policy.Read)
	if j.allows(policy.OpRead, path) {
		v.fix = j.show(path) + " exists on the host: no line is needed to make it"
		return v
	}
	v.hint.Cause += ", which exists on the host and is not granted"
	if j.risk(path, policy.AllRights) != "" || j.isTooWide(path) || !expressible(path) {
		v.fix = "grant what the server needs in " + j.show(path) + ", not all of it"
		return v
	}
	v.grant = grant{path: path, rights: policy.Read | j.profile.RightsAt(path)}
	return v
}
