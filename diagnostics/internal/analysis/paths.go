package analysis

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NamedPath returns the finding that the policy refuses a path which a failing line names, and which
// exists on the host, or whose directory does. It returns the zero finding for any other path. The jail of macOS hides none.
func NamedPath(c *Case, n words.Name) Finding {
	path, ok := c.Absolute(n.Text)
	if longer, is := c.Absolute(n.Longer); is && n.Longer != "" && c.Exists(longer) == Present {
		path, ok = longer, true
	}
	if !ok || (c.mac() || c.Exists(path) == unknown) && n.Fault == words.Absent || path == c.Profile.Dir && !strings.HasPrefix(n.Text, "/") {
		return Finding{}
	}
	if given := tildeArgument(c, n.Text); given != "" {
		return Finding{
			Note: "no program replaces a ~ in an argument: the server gets " + c.Quote(given) + " as it is written",
			Fix:  "write '" + show.Line(c.Evidence.Redactor.Redact(path)) + "'",
			Hint: diagnostics.Hint{Attribution: diagnostics.Likely, Explain: diagnostics.PagePathArg},
		}
	}
	if user, ok := userPath(c, c.Canonical(path)); ok {
		return namedInHome(c, path, user, n)
	}
	if _, private := privatePath(c, path); private && n.Text[0] == '~' && !inWorkspace(c, path) { // the server means its own
		return namedInHome(c, filepath.Join(c.Profile.Home, path[len(c.Evidence.UserHome):]), path, n)
	}
	link := path
	path = c.Canonical(path)
	cause := "the server's message names " + c.Show(path)
	switch place, rights := c.JailPlace(path); {
	case (place == "/tmp" || place == "/dev/shm") && path != place && c.Exists(path) == Present && n.Fault == words.Absent && !isSocket(path):
		return AttributePath(c, diagnostics.Likely, path, wanted(n), false, cause+", which exists on this machine: the jail has a "+place+" of its own")
	case place == "/dev/pts" && path != place && c.Exists(path) == Present && n.Fault == words.Absent:
		f := Refused(diagnostics.Likely, policy.AxisFs, path, RightName(policy.Write), c.Show(path)+" is a terminal of this machine, and the jail has terminals of its own", change.Object{})
		return f.Unfixable("no rule can add one. Serve the device at a port of this machine (socat does), and allow that port")
	case isSocket(path) && place != "" && c.Exists(path) == Present: // the host's
	case place != "" && rights.Has(policy.Update), place == "/proc":
		return Finding{}
	}
	missing := missingRights(c, path, n)
	if isSocket(path) && missing == 0 && !c.Profile.RightsAt(path).Has(policy.Update) && c.Exists(path) == Present {
		missing = policy.Update // the jail's own directory has no such socket
	}
	if path == c.Evidence.UserHome && missing == policy.Read && counts(c, path, missing) {
		f := Refused(diagnostics.Likely, policy.AxisFs, path, RightName(missing), c.Who()+" may not list "+c.Show(path), change.Object{})
		return f.Unfixable("a jail shows no server your whole home. Allow the folder that it needs: " + show.Typed("mcp-jail grant", c.Evidence.Server) + " --read ~/FOLDER")
	}
	if !counts(c, path, missing) || missing == policy.Read && c.Exists(path+"/.") == Present && IsTooWide(c, path) {
		return Finding{}
	}
	if lacks := c.Lacks(path, missing); lacks != "" {
		cause = lacks
	} else {
		cause += ", which it may not " + RightName(missing)
	}
	f := attributeNamed(c, diagnostics.Likely, path, missing, n, cause)
	if f.Object.Fs.Path == path && inUserHome(c, link) && !inWorkspace(c, link) && c.Exists(path) == Present && !isSocket(path) {
		f = InHome(c, diagnostics.Likely, link, missing, cause)
	}
	if path != link {
		f.Hint.Cause += linkText(c, link, path)
	}
	return f
}

// tildeArgument returns the argument of the server that begins with the ~ which a name begins with, or "".
func tildeArgument(c *Case, name string) string {
	for _, arg := range c.Profile.Argv[min(1, len(c.Profile.Argv)):] {
		if strings.HasPrefix(arg, "-") {
			_, arg, _ = strings.Cut(arg, "=")
		}
		if strings.HasPrefix(arg, "~") && (name == arg || strings.HasPrefix(name, strings.TrimSuffix(arg, "/")+"/")) {
			return arg
		}
	}
	return ""
}

// counts reports whether a missing right is a refusal of the jail, and not of the host as well.
func counts(c *Case, path string, missing policy.Rights) bool {
	here, dir := c.Exists(path), filepath.Dir(path)
	switch e, _ := c.Profile.Find(path); {
	case missing == 0, e.Rule == policy.UnsearchableRule,
		here == Absent && isSocket(path),
		change.IsProgram(c.Profile, path) && !missing.Has(policy.Execute),
		here == Absent && (missing&policy.Write == 0 || c.Exists(dir) != Present):
		return false
	}
	return c.may(path, missing)
}

func attributeNamed(c *Case, sure diagnostics.Attribution, path string, missing policy.Rights, n words.Name, cause string) Finding {
	dials := isSocket(path) && n.Fault != words.ReadOnly
	if dials {
		missing = policy.Update
	}
	f, beside := attributeCompanion(c, sure, path, missing, cause)
	switch {
	case beside && !dials:
	case n.Want == policy.Delete:
		f = attributeParent(c, sure, path, policy.Write, cause)
	default:
		f = AttributePath(c, sure, path, missing, n.Dir, cause)
	}
	return forSocket(c, f, dials)
}

// wanted returns the right that an attempt needed, as far as its line tells.
func wanted(n words.Name) policy.Rights {
	switch {
	case n.Want.Has(policy.Execute):
		return policy.Execute
	case n.Want&policy.Write != 0:
		return policy.Write
	}
	return policy.Read
}

// missingRights returns the right that the attempt needed and the profile does not give, or 0.
func missingRights(c *Case, path string, n words.Name) policy.Rights {
	here := c.Exists(path)
	writes := here == Present && c.Allows(policy.OpWrite, path) || here != Present && c.Allows(policy.OpCreate, path)
	write := func(allowed bool) policy.Rights {
		if allowed {
			return 0
		}
		return policy.Write
	}
	switch {
	case n.Want.Has(policy.Execute) && (here != Present || isProgram(c, path)):
		return policy.Execute &^ c.rightsAt(path)
	case n.Want.Has(policy.Create) && here == Absent:
		return write(c.Allows(policy.OpCreate, path))
	case n.Want == policy.Delete:
		return write(c.Allows(policy.OpRemove, path))
	case n.Want&policy.Write != 0:
		return write(writes)
	case !c.Allows(policy.OpRead, path) && here == Absent && n.Fault == words.Refused && n.Want == 0:
		return write(writes) // it exists nowhere, so the server tried to make it
	case !c.Allows(policy.OpRead, path) && filepath.Ext(path) == "" && isProgram(c, path):
		return policy.Execute // it was to be started
	case !c.Allows(policy.OpRead, path):
		return policy.Read
	case n.Fault == words.Refused && !c.isSystem(path): // the server may read it, and was refused
		return write(writes)
	}
	return 0
}

func isSocket(path string) bool {
	return strings.HasSuffix(path, ".sock") || strings.HasSuffix(path, ".socket") || strings.Contains(filepath.Base(path), "S.gpg-agent")
}

// linkText says which part of a path in granted places is a link that leads out of them, or "".
// real is the path without links.
func linkText(c *Case, path, real string) string {
	for at := 1; at <= len(path); at++ {
		if at < len(path) && path[at] != '/' {
			continue
		}
		// The directory of this part without links, and then this part: is it a link itself?
		link := filepath.Join(c.Canonical(filepath.Dir(path[:at])), filepath.Base(path[:at]))
		leads := c.Canonical(path[:at])
		if leads == link || c.isSystem(link) || !inWorkspace(c, link) && !isReadAbove(c, link) {
			continue
		}
		outside := ""
		if c.rightsAt(real) == 0 {
			outside = ", outside of what is granted"
		}
		return ", and " + c.Show(link) + " is a link that leads to " + c.Show(leads) + outside
	}
	return ""
}

// forSocket narrows the grant for a socket to `update`, which is all that a connection needs of `write`.
func forSocket(c *Case, f Finding, dials bool) Finding {
	if dials && f.Object.Fs.Path != "" && f.Object.Fs.Rights()&policy.Write != 0 {
		f.Object = change.Path(f.Object.Fs.Path, f.Object.Fs.Rights()&^policy.Write|policy.Update)
	}
	return f
}

// attributeMove returns the finding that nothing can be moved to path. That takes a right on its
// directory: the path of a rule for it alone stays in place.
func attributeMove(c *Case, sure diagnostics.Attribution, path, cause string) Finding {
	dir := filepath.Dir(path)
	why := whyShared(c, dir)
	if e, ok := c.Profile.Find(path); why == "" || c.Exists(dir) != Present || ok && e.Path == path {
		return attributeParent(c, sure, path, policy.Write, cause)
	}
	f := Refused(sure, policy.AxisFs, path, RightName(policy.Write), cause, change.Object{})
	f.Fix = "moving a file there needs a rule for the directory, but " + c.Show(dir) + " " + why + ": have the server use a directory of its own"
	return f
}

// attributeParent returns the finding that a right on the parent directory is missing, so that a
// rule for path alone would not help: to remove path.
func attributeParent(c *Case, sure diagnostics.Attribution, path string, missing policy.Rights, cause string) Finding {
	dir := filepath.Dir(path)
	// The path's own rule withholds the right, so a grant of the directory does not help. A shared
	// directory is never granted.
	if e, ok := c.Profile.Find(path); ok && e.Path == path && !e.Rights.Has(policy.Update) || c.Exists(dir) != Present || whyShared(c, dir) != "" {
		return AttributePath(c, sure, path, missing, false, cause)
	}
	f := AttributePath(c, sure, dir, missing, false, cause)
	f.Hint.Target = path
	return f
}

// absent says that a path does not exist.
func absent(c *Case, path string) string {
	return c.Show(path) + " does not exist on this machine either"
}

// AttributePath returns the finding that path lacks a right, with the rule to add.
func AttributePath(c *Case, sure diagnostics.Attribution, path string, missing policy.Rights, makes bool, cause string) Finding {
	f := Refused(sure, policy.AxisFs, path, RightName(missing), cause, change.Object{})
	switch {
	case makes && c.Exists(path) == Present:
		return attributeExistingDir(c, f, path)
	case !expressible(path):
		f.Fix = "no rule can name it (line breaks, globs and invalid UTF-8 are refused): grant a directory above it"
		return f
	case policy.Within(path, "/proc"):
		return f.Unfixable("no rule grants it: the server has a /proc of its own, or none")
	}
	f.Object, f.Fix = pathGrant(c, path, missing, makes)
	return f
}

// attributeExistingDir handles an attempt to create a directory that exists on the host. The
// attempt fails outside the jail too, so it leads to no right to write. Later messages show what
// the server needs in the directory.
func attributeExistingDir(c *Case, f Finding, path string) Finding {
	f.Hint.Missing = RightName(policy.Read)
	switch {
	case c.Allows(policy.OpRead, path):
		f.Fix = c.Show(path) + " exists on this machine: no line is needed to create it"
	case IsTooWide(c, path) || !expressible(path) || c.IsSensitive(path) || c.IsNever(path, policy.Write):
		f.Fix = "grant what the server needs in " + c.Show(path) + ", not all of it"
	default:
		f.Object = change.Path(path, policy.Read)
	}
	return f
}

// GivenPaths returns the findings about the paths that the server's own arguments and variables name, and
// that the policy refuses. fault is what the failing lines tell of. With every set, all of them count,
// and else those that a line names by the last part of the path, or by the variable.
func GivenPaths(c *Case, sure diagnostics.Attribution, fault words.Fault, lines []string, every bool) (all []Finding) {
	if !c.Profile.RestrictsFiles() {
		return nil
	}
	add := func(word, where, variable string) {
		for _, item := range policy.ListItems(c.Evidence.System, word) {
			path := argumentPath(c, item)
			if path == "" {
				continue
			}
			named := slices.ContainsFunc(lines, func(line string) bool {
				return words.HasWord(line, filepath.Base(path)) || variable != "" && words.HasWord(line, variable)
			})
			missing := policy.Read &^ c.Profile.RightsAt(path) // also where the jail has a /tmp of its own
			if isSocket(path) {
				missing = policy.Update &^ c.Profile.RightsAt(path)
			}
			if fault == words.ReadOnly && !c.Allows(policy.OpWrite, path) {
				missing = policy.Write
			}
			if !every && !named || !counts(c, path, missing) || IsTooWide(c, path) && sure != diagnostics.Certain && c.Exists(path+"/.") == Present ||
				slices.ContainsFunc(all, func(f Finding) bool { return f.Hint.Target == path }) {
				continue
			}
			n := words.Name{Text: path, Fault: fault}
			f := attributeNamed(c, sure, path, missing, n, c.Show(path)+", which "+where+", is not granted")
			f.Hint.Explain = diagnostics.PagePathArg
			all = append(all, f)
		}
	}
	for _, arg := range c.Profile.Argv[min(1, len(c.Profile.Argv)):] {
		if strings.HasPrefix(arg, "-") {
			_, arg, _ = strings.Cut(arg, "=")
		}
		add(arg, "the server's arguments name", "")
	}
	for _, v := range c.grantedVariables() {
		add(v.Value, "the variable "+v.Name+" names", v.Name)
	}
	return all
}

// argumentPath returns the path of a word of the server's own line. It returns "" if that is none, or
// does not exist.
func argumentPath(c *Case, word string) string {
	names := words.Names([]string{"'" + word + "'"})
	if strings.HasPrefix(word, "~") || !strings.ContainsAny(word, "/.") || len(names) == 0 && strings.Contains(word, "://") {
		return ""
	}
	if len(names) > 0 && names[0].Kind == words.Path {
		word = names[0].Text
	}
	path, ok := c.Absolute(word)
	if !ok || c.Exists(path) != Present {
		return ""
	}
	if path = c.Canonical(path); c.isSystem(path) && !policy.Within(path, "/tmp") && !policy.Within(path, "/dev/shm") || policy.Within(path, "/proc") || path == "/tmp" || path == "/dev/shm" {
		return ""
	}
	return path
}

// AnalyzePath analyzes a denial whose target is a path.
func AnalyzePath(c *Case, d policy.Denial, cause string) Finding {
	path, ok := c.Absolute(d.Target)
	if !ok {
		return Refused(diagnostics.Certain, d.Axis, d.Target, d.Operation, cause, change.Object{})
	}
	named := path
	if d.Reason == policy.DeniedOwnHome { // a rule has the name under which the server looks for it, before links
		path = c.Canonical(path)
	}
	want := words.RightsOf(d.Operation)
	if want == 0 {
		want = policy.Read
	}
	makesDir, dials := strings.HasPrefix(d.Operation, "mkdir"), d.Axis == policy.AxisIPC
	missing := missingRights(c, path, words.Name{Text: path, Want: want, Fault: words.Refused})
	private := ""
	if dials {
		private, _ = c.JailPlace(path)
	}
	if missing == 0 && private != "" {
		// The jail's own directory is writable and does not contain the socket.
		missing = policy.Update
		cause += ", which exists on this machine: the jail has a " + private + " of its own"
	}
	if missing == 0 {
		return grantedDenial(c, d, Refused(diagnostics.Certain, d.Axis, path, RightName(want), cause, change.Object{}))
	}
	// These fail outside the jail too: creating a file where a directory is, and
	// removing a file that does not exist.
	if want != policy.Read && want&policy.Delete == 0 && c.Exists(path+"/.") == Present {
		makesDir = true
	}
	if f, ok := cannotRemove(c, path, d.Operation, cause); ok {
		return f
	}
	f, beside := attributeCompanion(c, diagnostics.Certain, path, missing, cause)
	switch {
	case beside && !dials:
	case strings.HasPrefix(d.Operation, "rename"):
		f = attributeMove(c, diagnostics.Certain, path, cause)
	case want == policy.Delete:
		f = attributeParent(c, diagnostics.Certain, path, policy.Write, cause)
	default:
		f = AttributePath(c, diagnostics.Certain, path, missing, makesDir, cause)
	}
	f.Hint.Axis = d.Axis
	if d.Reason == policy.DeniedOwnHome {
		f.Object, f.Hint.Target = namedAt(c, named, f.Object), named
	}
	if o := f.Object; o.Fs.Path != "" && !o.Makes() && private == "" && o.Fs.Rights()&^c.Profile.RightsAt(o.At()) == 0 && !change.IsReserved(c.Profile, o.At()) {
		f.Object = change.Object{}
		f.Hint.Explain = diagnostics.PageFsMove
		f.Fix = "the policy already grants this, but the path of a rule or a protected file cannot be moved or removed. To see them: " + c.PlanCommand()
	}
	return forSocket(c, f, dials)
}

// grantedDenial completes the finding about a denial that the profile allows, so that no line would
// help.
func grantedDenial(c *Case, d policy.Denial, f Finding) Finding {
	switch {
	case strings.HasPrefix(d.Operation, "rename"):
		// The record holds only the new name. The refusal concerns the old name.
		f.Hint.Explain = diagnostics.PageFsMove
		f.Fix = "the new name is granted, but the old name cannot be moved: the server has no right to delete it, or it is or contains a protected file or the path of a rule; copy it instead. To see its rules: " + c.PlanCommand()
	case c.mac():
		f.Fix = "the policy grants this, but on macOS the jail is narrower beside protected files and for links. To see it: " + c.PlanCommand()
	default:
		f.Fix = "the policy already grants this: run `mcp-jail doctor` and report the problem"
	}
	return f
}
