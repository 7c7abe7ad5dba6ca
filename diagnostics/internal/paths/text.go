package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Analyze analyzes a path that a text names together with a fault.
func Analyze(c *facts.Case, ref said.Reference) facts.Finding {
	if ref.From != "" {
		if f := analyzeModule(c, ref); f.Refused || !strings.HasPrefix(ref.Name, "/") {
			return f
		}
	}
	if f := analyzeTilde(c, ref); f.Refused {
		return f
	}
	path, ok := c.Absolute(ref.Name)
	if !ok {
		return facts.Finding{}
	}
	if isSocketName(Named{Path: path}) && ref.Fault != said.ReadOnly && c.Exists(path) == facts.Present { // a client speaks of the socket that it did not reach
		ref.IsConnect, ref.Want = true, policy.Update
	}
	// A rule names the object that a link leads to.
	link := path
	path = c.Canonical(path)
	if ref.Bare && (c.Exists(path) != facts.Present || path == link) {
		return facts.Finding{} // most likely a word of the sentence
	}
	if user, ok := userPath(c, path); ok && (ref.Fault == said.Absent || c.Exists(path) == facts.Absent) {
		return withhold(c, analyzePrivatePath(c, path, user, ref), false)
	}
	f := analyzeResolvedPath(c, path, ref)
	if f.Refused && f.Grant.Path == path && c.Exists(path) == facts.Present && inUserHome(c, link) && !inWorkspace(c, link) && !ref.IsConnect {
		f = attributeInHome(c, f.Hint.Attribution, link, f.Grant.Rights, f.Hint.Cause)
	}
	f = withhold(c, forSocket(c, f, ref.IsConnect), ref.IsConnect)
	if f.Refused && path != link {
		f.Hint.Cause += linkText(c, link, path)
	}
	return f
}

// linkText says which part of a path in granted places is a link that leads out of them, or "".
// real is the path without links.
func linkText(c *facts.Case, path, real string) string {
	for at := 1; at <= len(path); at++ {
		if at < len(path) && path[at] != '/' {
			continue
		}
		// The directory of this part without links, and then this part: is it a link itself?
		link := filepath.Join(c.Canonical(filepath.Dir(path[:at])), filepath.Base(path[:at]))
		leads := c.Canonical(path[:at])
		if leads == link || c.IsSystem(link) || !inWorkspace(c, link) && !isReadAbove(c, link) {
			continue
		}
		outside := ""
		if c.RightsAt(real) == 0 {
			outside = ", outside of what is granted"
		}
		return "; " + c.Show(link) + " is a link that leads to " + c.Show(leads) + outside
	}
	return ""
}

func analyzeResolvedPath(c *facts.Case, path string, ref said.Reference) facts.Finding {
	here := c.Exists(path)
	missing := missingRights(c, path, ref, here)

	switch {
	case ref.Fault == said.Absent:
		return analyzeAbsentPath(c, path, ref, here, missing)
	case ref.Fault == said.Busy:
		return analyzeBusyPath(c, path)
	case names.IsUnlisted(c, path, ref):
		return names.AttributeProgram(c, report.Likely, names.CommandName(c, path), "the server's message names "+c.Show(path)+", which the policy's commands do not list")
	}
	if missing == 0 {
		return notRefused(c, path)
	}
	if isServerProgram(c, path) && !missing.Has(policy.Execute) {
		return facts.Finding{} // the program that wrote the line
	}
	if missing == policy.Execute && c.Evidence.Executable != nil && here == facts.Present && !c.Evidence.Executable(path) {
		return facts.Finding{Note: c.Show(path) + " cannot be executed on this host either", Fix: "make it executable (chmod +x)"}
	}
	if here == facts.Absent && missing == policy.Read && ref.Want == 0 && ref.Fault == said.Refused && c.Allows(policy.OpCreate, path) {
		missing |= policy.Write // the server creates the file and also opens it for reading
	}
	// From here on the policy refuses it. Would the host refuse it as well?
	if e, _ := c.Profile.Find(path); e.Rule == policy.UnsearchableRule {
		return notRefused(c, path) // the host does not let its user in either
	}
	if here == facts.Absent && (missing&policy.Write == 0 || ref.IsConnect || isForeignPath(c, path)) {
		// The host has no such file, so granting the path would grant nothing.
		return facts.Finding{Note: c.Show(path) + " cannot be seen on this host either"}
	}
	cause := "the server's message names " + c.Show(path) + ", which the policy does not let it " + facts.Right(missing)
	if ref.Database {
		missing |= policy.Write
	}
	if f, beside := attributeCompanion(c, report.Likely, path, missing, cause); beside {
		return f
	}
	switch {
	case ref.Want == policy.Delete, ref.Want == 0 && isUnremovable(c, path): // the directory decides about names in it
		return attributeParent(c, report.Likely, path, policy.Write, cause)
	case ref.Database:
		return attributeParent(c, report.Likely, path, policy.Read|policy.Write, cause)
	}
	return Attribute(c, report.Likely, path, missing, ref.IsMkdir, cause)
}

// forSocket narrows the grant for a socket to `update`, which is all that a connection
// needs of `write`.
func forSocket(c *facts.Case, f facts.Finding, dials bool) facts.Finding {
	if dials && f.Grant.Path != "" && f.Grant.Rights&policy.Write != 0 {
		f.Grant.Rights = f.Grant.Rights&^policy.Write | policy.Update
	}
	return f
}

// isForeignPath reports whether the host lacks even the first directory of path. The path
// then belongs to another machine or to a service.
func isForeignPath(c *facts.Case, path string) bool {
	first, _, deep := strings.Cut(path[1:], "/")
	return deep && c.Exists("/"+first) == facts.Absent
}

func notRefused(c *facts.Case, path string) facts.Finding {
	return facts.Finding{
		Note: "the policy allows this access to " + c.Show(path) + ": more likely the file's own permissions refuse it",
		Fix:  "check the owner and mode of " + c.Show(path),
	}
}

func isUnremovable(c *facts.Case, path string) bool {
	dir := c.RightsAt(filepath.Dir(path))
	return dir&policy.Write != 0 && !dir.Has(policy.Delete) && c.Allows(policy.OpWrite, path)
}

// attributeMove returns the finding that nothing can be moved to path. That takes a right on its
// directory: the path of a rule for it alone stays in place.
func attributeMove(c *facts.Case, sure report.Attribution, path, cause string) facts.Finding {
	dir := filepath.Dir(path)
	why := whyShared(c, dir)
	if e, ok := c.Profile.Find(path); why == "" || c.Exists(dir) != facts.Present || ok && e.Path == path {
		return attributeParent(c, sure, path, policy.Write, cause)
	}
	f := facts.Refused(sure, policy.AxisFs, path, facts.Right(policy.Write), cause, grants.Grant{})
	f.Fix = "moving a file there needs a rule for the directory, but " + c.Show(dir) + " " + why + ": have the server use a directory of its own"
	return f
}

// attributeParent returns the finding that a right on the parent directory is missing, so
// that a rule for path alone would not help: removing path, or creating the companions of
// a database.
func attributeParent(c *facts.Case, sure report.Attribution, path string, missing policy.Rights, cause string) facts.Finding {
	dir := filepath.Dir(path)
	// The path's own rule withholds the right, so a grant of the directory does not help. A shared
	// directory is never granted.
	if e, ok := c.Profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Update) || c.Exists(dir) != facts.Present || whyShared(c, dir) != "" {
		return Attribute(c, sure, path, missing, false, cause)
	}
	f := Attribute(c, sure, dir, missing, false, cause)
	f.Hint.Target = path
	if f.Grant.Path == dir {
		f.Grant = alignFileRule(c, f.Grant, path)
	}
	return f
}

func analyzeAbsentPath(c *facts.Case, path string, ref said.Reference, here facts.Existence, missing policy.Rights) facts.Finding {
	switch {
	case here == facts.Unknown, here == facts.Present && c.Mac() && ref.Errno: // macOS refuses with EPERM
		return facts.Finding{}
	case here == facts.Absent && c.Mac():
		return facts.Finding{Note: absent(c, path)}
	case here == facts.Present:
		// The server may read it. It did not find it only if the jail has its own object there.
		if missing == 0 {
			if private, _ := c.JailPlace(path); private != "" {
				right := policy.Read
				if ref.Want&policy.Write != 0 {
					right = policy.Write
				}
				return Attribute(c, report.Likely, path, right, false,
					"the server did not find "+c.Show(path)+", which exists on the host: the jail has a "+private+" of its own")
			}
			return facts.Finding{}
		}
		if ref.FromShell && missing == policy.Read && c.Evidence.Executable != nil && c.Evidence.Executable(path) && c.Exists(path+"/.") != facts.Present {
			missing |= policy.Execute // a shell names a program by its path to start it
		}
		if missing == policy.Read && isProgram(c, path) && programDir(c, path) != "" {
			missing |= policy.Execute // a program beside its data, such as a browser, is looked for to be started
		}
		return Attribute(c, report.Likely, path, missing, ref.IsMkdir,
			"the server did not find "+c.Show(path)+", which exists on the host but is not granted")
	}
	// The host has no such file. Where its directory exists and the jail hides it,
	// creating the file fails with the same message as reading it.
	dir := filepath.Dir(path)
	if ref.IsMkdir && c.Exists(dir) == facts.Present && missing&policy.Write != 0 {
		// node creates the directories above first and names only the last one.
		return Attribute(c, report.Likely, path, policy.Write, true,
			"the server could not make "+c.Show(path)+": the policy does not let it make anything in "+c.Show(dir))
	}
	if c.Exists(dir) == facts.Present && c.RightsAt(dir) == 0 {
		if ref.Want&policy.Write != 0 && !ref.IsConnect {
			return Attribute(c, report.Likely, path, policy.Write, ref.IsMkdir,
				"the server could not make "+c.Show(path)+": its directory exists on the host but is not granted")
		}
		return facts.Finding{
			Note: c.Show(path) + " does not exist on this host; its directory is not granted, so the server could not make it either",
		}
	}
	return facts.Finding{Note: absent(c, path)}
}

// absent says that a path does not exist, and where a relative one was looked for.
func absent(c *facts.Case, path string) string {
	text, shown := c.Show(path), c.Writer.Display(path)
	if !filepath.IsAbs(shown) && !strings.HasPrefix(shown, "~") {
		text += " in " + c.Quote(c.Profile.Workspace)
	}
	return text + " does not exist on this host either"
}

// analyzeBusyPath analyzes a name that could not be moved, removed or replaced. The jail
// keeps the paths of rules and protected names in place, and the directories above them
// (docs/policy.md "Filesystem rules").
func analyzeBusyPath(c *facts.Case, path string) facts.Finding {
	if e, ok := c.Profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Write) {
		return Attribute(c, report.Likely, path, policy.Write, false, "the server's message names "+c.Show(path)+", which the policy does not let it replace")
	}
	// The path of a rule stays where it is, and so do the directories above it.
	for _, e := range c.Profile.Entries {
		if policy.Within(e.Path, path) && !c.Allows(policy.OpRemove, path) && c.RightsAt(filepath.Dir(path)).Has(policy.Delete) {
			return facts.Finding{
				Note: c.Show(path) + " is or contains a name that the jail keeps in place: " + c.Show(e.Path),
				Fix:  "write to the file in place, or see " + c.PlanCommand() + " for the rules about it",
				Hint: report.Hint{Attribution: report.Possible, Explain: report.PageFsMove},
			}
		}
	}
	return facts.Finding{}
}

// missingRights returns the right that the attempt needed and the profile does not give,
// or 0 when the profile gives all.
func missingRights(c *facts.Case, path string, ref said.Reference, here facts.Existence) policy.Rights {
	reads := c.Allows(policy.OpRead, path)
	// Writing to a file that does not exist creates it.
	writes := here != facts.Absent && c.Allows(policy.OpWrite, path) || here != facts.Present && c.Allows(policy.OpCreate, path)
	if here == facts.Unknown { // allowed only if both writing and creating are
		writes = c.Allows(policy.OpWrite, path) && (c.Allows(policy.OpCreate, path) || c.IsEntry(path))
	}
	write := func(allowed bool) policy.Rights {
		if allowed {
			return 0
		}
		return policy.Write
	}
	switch {
	case ref.Want.Has(policy.Execute):
		return policy.Execute &^ c.RightsAt(path)
	case ref.Want == policy.Write: // of ReadOnly: the attempt needed some right of Write
		return write(writes && c.RightsAt(filepath.Dir(path)).Has(policy.Create|policy.Delete))
	case ref.Want.Has(policy.Create):
		return write(c.Allows(policy.OpCreate, path))
	case ref.Want.Has(policy.Delete):
		return write(c.Allows(policy.OpRemove, path))
	case ref.Want.Has(policy.Update):
		return write(writes)
	case !reads:
		if ref.Want == 0 && here == facts.Absent && ref.Fault == said.Refused {
			if writes {
				return policy.Read // of a file that the server creates itself
			}
			return policy.Write // the file does not exist, so the server tried to create it
		}
		return policy.Read
	case ref.Want == 0 && ref.Fault == said.Refused && !ref.Vague && !c.IsSystem(path):
		// The server may read and was refused, so it tried to write. For files of the
		// system that is not likely enough.
		if startRefused(c, path) {
			return 0 // that is what the server was refused
		}
		// It may also write, and a shell wrote the line: it tried to start the file.
		if writes && !isUnremovable(c, path) && ref.FromShell {
			return policy.Execute &^ c.RightsAt(path)
		}
		return write(writes && !isUnremovable(c, path))
	}
	return 0
}

func startRefused(c *facts.Case, path string) bool {
	return slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool {
		target, ok := c.Absolute(d.Target)
		return d.Axis == policy.AxisProcess && said.RightsOf(d.Operation).Has(policy.Execute) && ok && target == path
	})
}

// Attribute returns the finding that path lacks a right, with the rule to add.
func Attribute(c *facts.Case, sure report.Attribution, path string, missing policy.Rights, makes bool, cause string) facts.Finding {
	f := facts.Refused(sure, policy.AxisFs, path, facts.Right(missing), cause, grants.Grant{})
	if makes && c.Exists(path) == facts.Present {
		return attributeExistingDir(c, f, path)
	}
	if !grants.Expressible(path) {
		f.Fix = "no rule can name it (line breaks, globs and invalid UTF-8 are refused): grant a directory above it"
		return f
	}
	if policy.Within(path, "/proc") {
		f.Fix = "no rule grants it: the server has its own read-only /proc, or none"
		if c.Mac() {
			f.Fix = "no rule grants it: macOS has no /proc"
		}
		return f
	}
	f.Grant, f.Fix = pathGrant(c, path, missing, makes)
	if f.Grant.IsZero() {
		f.NoLine = true
		return f
	}
	return f
}

// attributeExistingDir handles an attempt to create a directory that exists on the host. The
// attempt fails outside the jail too, so it leads to no right to write. Later messages show what
// the server needs in the directory.
func attributeExistingDir(c *facts.Case, f facts.Finding, path string) facts.Finding {
	f.Hint.Missing = facts.Right(policy.Read)
	if c.Allows(policy.OpRead, path) {
		f.Fix = c.Show(path) + " exists on the host: no line is needed to create it"
		return f
	}
	f.Hint.Cause += ", which exists on the host and is not granted"
	if Harm(c, path, policy.Write).Never != "" || IsSensitive(c, path) || IsTooWide(c, path) || !grants.Expressible(path) {
		f.Fix = "grant what the server needs in " + c.Show(path) + ", not all of it"
		return f
	}
	f.Grant = grants.Grant{Path: path, Rights: policy.Read | c.Profile.RightsAt(path)}
	return f
}
