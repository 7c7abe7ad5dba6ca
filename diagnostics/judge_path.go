package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// path judges a path that a text names together with a fault.
func (j *judge) path(m mention) verdict {
	path, ok := j.absolute(m.name)
	if !ok {
		return verdict{}
	}
	link := path
	path = j.canonical(path)
	if m.bare && (j.exists(path) != present || path == link) {
		return verdict{} // a word of the sentence, for all that is known
	}
	v := j.withheld(j.connected(j.named(path, m), m.dials), m.dials)
	if v.blamed && path != link && j.inWorkspace(link) {
		v.hint.Cause += "; " + j.show(link) + " leads there"
	}
	return v
}

// named judges what the path of a text leads to.
func (j *judge) named(path string, m mention) verdict {
	here := j.exists(path)
	missing := j.missing(path, m, here)

	switch {
	case m.fault == faultAbsent:
		return j.absentPath(path, m, here, missing)
	case m.fault == faultBusy:
		return j.busyPath(path)
	case j.unlisted(path, m):
		return j.blameCommand(Likely, j.commandFor(path), "the server's message names "+j.show(path)+", which the policy's commands do not list")
	}
	if missing == 0 {
		return j.allowed(path)
	}
	if j.owned(path) && !missing.Has(policy.Execute) {
		return verdict{} // who speaks, and not what it speaks of
	}
	if missing == policy.Execute && j.ev.Executable != nil && here == present && !j.ev.Executable(path) {
		return verdict{note: j.show(path) + " cannot be executed on this host either", fix: "make it executable (chmod +x)"}
	}
	if here == absent && missing == policy.Read && m.want == 0 && m.fault == faultRefused && j.allows(policy.OpCreate, path) {
		missing |= policy.Write // it made the file, and opened it for reading, too
	}
	if e, _ := j.profile.Find(path); e.Rule == policy.Unsearched {
		return j.allowed(path) // nor does the host let its user in
	}
	if here == absent && (missing&policy.Write == 0 || m.dials || j.nowhere(path)) {
		// The host has no such file, so granting the path would grant nothing.
		return verdict{note: j.show(path) + " cannot be seen on this host either"}
	}
	cause := "the server's message names " + j.show(path) + ", which the policy does not let it " + word(missing)
	if m.database {
		missing |= policy.Write
	}
	if v, beside := j.blameBeside(Likely, path, missing, cause); beside {
		return v
	}
	switch {
	case m.want == policy.Delete, m.want == 0 && j.keeps(path):
		return j.blameAround(Likely, path, policy.Write, cause)
	case m.database:
		return j.blameAround(Likely, path, policy.Read|policy.Write, cause)
	}
	return j.blamePath(Likely, path, missing, m.makes, cause)
}

// connected narrows the line for a socket, which takes `update` and nothing else of what
// `write` is short for, and says what it gives away.
func (j *judge) connected(v verdict, dials bool) verdict {
	if dials && v.need.path != "" {
		v.hint.Warning = j.hostSocket(v.need.path)
	}
	if dials && v.need.path != "" && v.need.rights&policy.Write != 0 {
		v.need.rights = v.need.rights&^policy.Write | policy.Update
	}
	return v
}

// nowhere tells a path of which the host does not even have the beginning: it is one of
// another machine, or of a service's own.
func (j *judge) nowhere(path string) bool {
	first, _, deep := strings.Cut(path[1:], "/")
	return deep && j.exists("/"+first) == absent
}

// allowed is the note about a path of which the policy refuses nothing.
func (j *judge) allowed(path string) verdict {
	return verdict{
		note: "the policy allows this access to " + j.show(path) + ": the refusal is more likely one of the file's own permissions",
		fix:  "look at the owner and mode of " + j.show(path),
	}
}

// keeps tells a file that may be written and not be removed.
func (j *judge) keeps(path string) bool {
	dir := j.rightsAt(filepath.Dir(path))
	return dir&policy.Write != 0 && !dir.Has(policy.Delete) && j.allows(policy.OpWrite, path)
}

// blameAround is the verdict that a right on the directory that holds path is
// missing, so that a rule for path alone would not help: to remove the name, or to
// keep what belongs to a database beside it.
func (j *judge) blameAround(a Attribution, path string, missing policy.Rights, cause string) verdict {
	dir := filepath.Dir(path)
	if e, ok := j.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Update) || j.exists(dir) != present || j.tooWide(dir) {
		return j.blamePath(a, path, missing, false, cause)
	}
	v := j.blamePath(a, dir, missing, false, cause)
	v.hint.Target = path
	if v.need.path == dir {
		v.need = j.besideRuled(v.need, path)
	}
	return v
}

// absentPath judges a path that the server did not find. Only one that is there
// on the host tells anything about the jail.
func (j *judge) absentPath(path string, m mention, here existence, missing policy.Rights) verdict {
	switch here {
	case unknown:
		return verdict{}
	case present:
		if missing == 0 {
			if private, _ := j.own(path); private != "" {
				right := policy.Read
				if m.want&policy.Write != 0 {
					right = policy.Write
				}
				return j.blamePath(Likely, path, right, false,
					"the server did not find "+j.show(path)+", which exists on the host: the jail has a "+private+" of its own")
			}
			return verdict{}
		}
		if m.shell && missing == policy.Read && j.ev.Executable != nil && j.ev.Executable(path) && j.exists(path+"/.") != present {
			missing |= policy.Execute // a program by its path is there to be started
		}
		return j.blamePath(Likely, path, missing, m.makes,
			"the server did not find "+j.show(path)+", which exists on the host but is not granted")
	}
	// Not there on the host. When the directory is, and the jail does not show it,
	// making the file there fails with the same words as reading what never was.
	dir := filepath.Dir(path)
	if m.makes && j.exists(dir) == present && missing&policy.Write != 0 {
		// node makes the directories above first, and tells of the last one only.
		return j.blamePath(Likely, path, policy.Write, true,
			"the server could not make "+j.show(path)+": the policy does not let it make anything in "+j.show(dir))
	}
	if j.exists(dir) == present && j.rightsAt(dir) == 0 {
		if m.want&policy.Write != 0 && !m.dials {
			return j.blamePath(Likely, path, policy.Write, m.makes,
				"the server could not make "+j.show(path)+": its directory exists on the host but is not granted")
		}
		return verdict{
			note: j.show(path) + " does not exist on this host; its directory is not granted, so the server could not make it either",
		}
	}
	return verdict{note: j.show(path) + " does not exist on this host either"}
}

// busyPath judges a name that could not be moved, removed or replaced. The jail
// keeps those in place that a rule or a protected name is about, and the
// directories on the way to them (docs/policy.md "Filesystem rules").
func (j *judge) busyPath(path string) verdict {
	if e, ok := j.profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Write) {
		return j.blamePath(Likely, path, policy.Write, false, "the server's message names "+j.show(path)+", which the policy does not let it replace")
	}
	for _, e := range j.profile.Entries {
		if policy.Within(e.Path, path) && !j.allows(policy.OpRemove, path) && j.rightsAt(filepath.Dir(path)).Has(policy.Delete) {
			return verdict{
				note: j.show(path) + " is, or holds, a name that the jail keeps in place: " + j.show(e.Path),
				fix:  "write what is there in place, or see " + j.plan() + " for the rules about it",
				hint: Hint{Attribution: Possible},
			}
		}
	}
	return verdict{}
}

// missing is the right that the attempt needed and the profile does not give; 0
// when it gives all.
func (j *judge) missing(path string, m mention, here existence) policy.Rights {
	reads := j.allows(policy.OpRead, path)
	// Writing to what does not exist is making it.
	writes := here != absent && j.allows(policy.OpWrite, path) || here != present && j.allows(policy.OpCreate, path)
	if here == unknown { // both have to be allowed before it is said that they are
		writes = j.allows(policy.OpWrite, path) && (j.allows(policy.OpCreate, path) || j.pinned(path))
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
	case m.want == 0 && m.fault == faultRefused && !m.vague && !j.system(path):
		// It may read and was refused: it wanted to write, if anything. Of the
		// system's files that is not likely enough.
		if writes && !j.keeps(path) && m.shell {
			return policy.Execute &^ j.rightsAt(path)
		}
		return allowed(writes && !j.keeps(path), policy.Write)
	}
	return 0
}

// blamePath is the verdict that path lacks a right, with the rule to add.
func (j *judge) blamePath(a Attribution, path string, missing policy.Rights, makes bool, cause string) verdict {
	v := j.blame(a, policy.AxisFs, path, word(missing), cause, need{})
	if makes && j.exists(path) == present {
		return j.madeAlready(v, path)
	}
	if !expressible(path) {
		v.fix = "no rule can name it (line breaks, globs and bytes that are no UTF-8 are refused): grant a directory above it"
		return v
	}
	if policy.Within(path, "/proc") {
		v.fix = "no rule grants it: the server has a /proc of its own, which is read-only, or none"
		return v
	}
	v.need, v.fix = j.pathNeed(path, missing, makes)
	if v.need.isZero() {
		return v
	}
	v.hint.Warning = j.risk(v.need.path, v.need.rights)
	return v
}

// madeAlready is the verdict about the attempt to make a directory that is there on
// the host. Outside of the jail that fails as well, so it asks for no right to write,
// and what a server wants of a directory it can say with a name in it.
func (j *judge) madeAlready(v verdict, path string) verdict {
	v.hint.Missing = word(policy.Read)
	if j.allows(policy.OpRead, path) {
		v.fix = j.show(path) + " exists on the host: no line is needed to make it"
		return v
	}
	v.hint.Cause += ", which exists on the host and is not granted"
	if j.risk(path, policy.AllRights) != "" || j.tooWide(path) || !expressible(path) {
		v.fix = "grant what the server needs in " + j.show(path) + ", not all of it"
		return v
	}
	v.need = need{path: path, rights: policy.Read | j.profile.RightsAt(path)}
	return v
}
