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

// userPath returns the path in the user's home that has the place of a path in the server's
// private HOME. A rule that grants it shows it there.
func userPath(c *Case, path string) (user string, ok bool) {
	home := c.Profile.Home
	if !c.Profile.HomePrivate || home == "" || c.Evidence.UserHome == "" || path == home || !policy.Within(path, home) {
		return "", false
	}
	return filepath.Join(c.Evidence.UserHome, path[len(home):]), true
}

// privatePath is the inverse of userPath.
func privatePath(c *Case, path string) (private string, ok bool) {
	if !c.Profile.HomePrivate || c.Profile.Home == "" || !inUserHome(c, path) || path == c.Evidence.UserHome {
		return "", false
	}
	return filepath.Join(c.Profile.Home, path[len(c.Evidence.UserHome):]), true
}

// namedInHome returns the finding about a path in the private HOME, where the server found nothing.
// user is the path in the user's home that has the same place.
func namedInHome(c *Case, path, user string, n words.Name) Finding {
	if c.Exists(path) == Present && n.Fault != words.Absent { // the server has it, and means it
		return Finding{}
	}
	real, dir := c.Canonical(user), filepath.Dir(user)
	missing := missingRights(c, real, n)
	switch makes := n.Want&policy.Write != 0; {
	case isProgram(c, real) && n.Want.Has(policy.Execute):
		missing = policy.Execute &^ c.rightsAt(real)
	case c.Exists(real) == Absent && makes && c.Exists(dir) == Present && dir != c.Evidence.UserHome:
		return itsOwn(InHome(c, diagnostics.Likely, dir, policy.Read|policy.Write, c.Who()+" tried to make "+c.Show(user)+" in its own home folder. It probably needs the one in yours, where it may not write"))
	}
	rel := path[len(c.Profile.Home)+1:]
	if moved := filepath.Join(c.Evidence.StartDir, rel); c.Evidence.StartDir != "" && c.Profile.Dir != c.Evidence.StartDir && c.Exists(real) != Present && c.Exists(moved) == Present {
		return Finding{
			Note: c.Quote(rel) + " is relative, and the server starts in its own HOME, and not where " + c.Quote(moved) + " is",
			Fix:  "write its absolute path: '" + show.Line(c.Evidence.Redactor.Redact(moved)) + "'",
			Hint: diagnostics.Hint{Attribution: diagnostics.Likely, Explain: diagnostics.PagePathArg},
		}
	}
	if c.Exists(real) == Absent && c.Exists(filepath.Dir(path)) == Absent && rel[0] != '.' { // a program expects hidden ones of its own
		near := dir
		for c.Exists(near) == Absent && inUserHome(c, near) {
			near = filepath.Dir(near)
		}
		missing, lacks := missingRights(c, near, n), ", which it may not see"
		if near == dir && !n.Want.Has(policy.Execute) { // to read the file would fail outside, too
			missing, lacks = (policy.Read|policy.Write)&^c.rightsAt(near), ", where it may not write"
		}
		if near != c.Evidence.UserHome && counts(c, near, missing) && !IsTooWide(c, near) {
			return itsOwn(InHome(c, diagnostics.Possible, near, missing, c.Who()+" looked for "+c.Show(user)+" in its own home folder. It may need your "+c.Show(near)+lacks))
		}
	}
	if c.Exists(real) != Present || !counts(c, real, missing) {
		return Finding{}
	}
	return itsOwn(InHome(c, diagnostics.Likely, user, missing, c.Who()+" looked for "+c.Show(user)+" in its own home folder. It probably needs the one in yours, which it may not see"))
}

// itsOwn marks the cause of a finding as sentences of its own, unless another cause took its place.
func itsOwn(f Finding) Finding {
	f.Whole = true
	return f
}

// InHome returns the finding that a right on a path in the user's home is missing. Its rule has the
// name under which the server looks for it, before links.
func InHome(c *Case, sure diagnostics.Attribution, user string, missing policy.Rights, cause string) Finding {
	if dir := treeOf(c, user); dir != "" && missing&policy.Write == 0 {
		user, missing = dir, missing|policy.Read|policy.Execute
	}
	real := c.Canonical(user)
	f := AttributePath(c, sure, real, missing, false, cause)
	f.Object, f.Hint.Target = namedAt(c, user, f.Object), user
	return f
}

// namedAt returns an object with the part of a path in the user's home that leads to its own, if one does.
func namedAt(c *Case, path string, o change.Object) change.Object {
	if o.Fs.Path == "" {
		return o
	}
	for dir := path; dir != filepath.Dir(dir) && inUserHome(c, dir); dir = filepath.Dir(dir) {
		if c.Canonical(dir) == o.At() {
			o.Fs.Path = dir + o.Fs.Path[len(o.At()):]
			break
		}
	}
	return o
}

// treeOf returns the program tree that a path in the user's home is or lies in, or "".
func treeOf(c *Case, path string) string {
	for _, name := range trees() {
		if dir := filepath.Join(c.Evidence.UserHome, name); policy.Within(path, dir) && c.Exists(dir+"/.") == Present {
			return dir
		}
	}
	return ""
}

// isProgram reports whether a path is a file that the host may execute.
func isProgram(c *Case, path string) bool {
	return c.Exists(path) == Present && c.Exists(path+"/.") != Present && c.may(path, policy.Execute)
}

// programDir returns the directory that a program needs besides its file, or "": its own, if it keeps
// its data there, or the one around bin with a lib. Programs of the system and of the workspace have
// none here.
func programDir(c *Case, program string) string {
	dir := filepath.Dir(program)
	has := func(name string) bool { return c.Exists(filepath.Join(dir, name)) == Present }
	if !slices.ContainsFunc(marks(), has) {
		bin := dir
		if dir = filepath.Dir(bin); filepath.Base(bin) != "bin" || !has("lib") {
			return ""
		}
	}
	if inWorkspace(c, program) || systemDir(program) || c.Exists(program) != Present || whyShared(c, dir) != "" || c.IsSensitive(dir) {
		return ""
	}
	return dir
}

// NeededPaths returns the findings about what a granted program needs elsewhere in the home, and about
// what a row of known programs says is there.
func NeededPaths(c *Case, sure diagnostics.Attribution, places []string, cause string) (all []Finding) {
	for _, place := range places {
		path := filepath.Join(c.Evidence.UserHome, place)
		real := c.Canonical(path)
		if c.Evidence.UserHome == "" || c.Exists(real) != Present {
			continue
		}
		missing := policy.Read &^ c.rightsAt(real)
		if isSocket(path) {
			missing = policy.Update &^ c.rightsAt(real)
		}
		if missing == 0 || !c.may(real, missing) {
			continue
		}
		f := InHome(c, sure, path, missing, cause+" "+c.Show(path)+", which is not granted")
		all = append(all, forSocket(c, f, isSocket(path)))
	}
	return all
}

// WithNeeds returns a finding about a program with those about what it needs besides.
func WithNeeds(c *Case, f Finding) []Finding {
	all := []Finding{f}
	if f.Object.Fs.Path == "" || !f.Object.Fs.Rights().Has(policy.Execute) || !inUserHome(c, f.Object.Fs.Path) {
		return all
	}
	dir := f.Object.Fs.Path
	if c.Exists(dir+"/.") != Present {
		dir = filepath.Dir(dir)
	}
	rel, _ := filepath.Rel(c.Evidence.UserHome, dir)
	for _, needed := range NeededPaths(c, f.Hint.Attribution, needsOf(rel), "a program of "+c.Show(dir)+" needs") {
		needed.Besides = true
		all = append(all, needed)
	}
	return all
}

// Beside returns the findings about a module that lies beside a file of the server's line, or above it,
// where the server may not read. The grant is for the directory, since modules import each other.
func Beside(c *Case, modules []string, cause string) []Finding {
	files := words.Importers(c.Evidence.Text + "\n" + strings.Join(c.Evidence.Stderr, "\n"))
	for _, arg := range append(files, c.Profile.Argv...) {
		file, ok := c.Absolute(arg)
		if !ok || !strings.Contains(arg, "/") || c.Exists(file) != Present || c.Exists(file+"/.") == Present {
			continue
		}
		for dir, level := filepath.Dir(file), 0; dir != filepath.Dir(dir) && level < 4; dir, level = filepath.Dir(dir), level+1 {
			for _, name := range modules {
				path := filepath.Join(dir, name)
				real := c.Canonical(path)
				if c.Exists(real) != Present || c.Allows(policy.OpRead, real) || !c.may(real, policy.Read) {
					continue
				}
				cause += " " + c.Show(path) + ", which is not granted"
				if around := filepath.Dir(real); filepath.Ext(real) != "" && whyShared(c, around) == "" && c.IsFree(around, policy.Read) {
					real = around
				}
				return []Finding{AttributePath(c, diagnostics.Likely, real, policy.Read, false, cause)}
			}
		}
	}
	return nil
}

// jailPlaces are the paths that the jail provides to every process and that a profile does
// not list (docs/policy.md "Runtime baseline"). The host has other objects at these paths.
var jailPlaces = []struct {
	path   string
	rights policy.Rights
}{
	{"/tmp", policy.AllRights},
	{"/dev/shm", policy.AllRights},
	{"/proc", policy.Read | policy.Update},
	{"/dev/null", policy.Read | policy.Update}, {"/dev/zero", policy.Read | policy.Update}, {"/dev/full", policy.Read | policy.Update},
	{"/dev/random", policy.Read | policy.Update}, {"/dev/urandom", policy.Read | policy.Update}, {"/dev/tty", policy.Read | policy.Update},
	{"/dev/ptmx", policy.Read | policy.Update}, {"/dev/pts", policy.Read | policy.Update},
	{"/etc/hosts", policy.Read}, {"/etc/resolv.conf", policy.Read},
}

// macPlaces are those of macOS. The objects are the host's, but for the directory of TMPDIR.
var macPlaces = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/fd"}

func macPlace(path string) (place string, rights policy.Rights) {
	for _, tmp := range []string{"/private/tmp/", "/tmp/"} {
		// TMPDIR of a session: its name is chosen at the start and is in no profile.
		if rest, ok := strings.CutPrefix(path, tmp+"mj-"); ok {
			name, _, _ := strings.Cut(rest, "/")
			return tmp + "mj-" + name, policy.AllRights
		}
	}
	for _, place := range macPlaces {
		if policy.Within(path, place) {
			return place, policy.Read | policy.Update
		}
	}
	return "", 0
}

// JailPlace returns the place of the jail that decides about path and the rights there, or
// "" if an entry of the profile decides.
func (c *Case) JailPlace(path string) (place string, rights policy.Rights) {
	if c.mac() {
		return macPlace(path)
	}
	entry, covered := c.Profile.Find(path)
	for _, o := range jailPlaces {
		if policy.Within(path, o.path) && (!covered || len(entry.Path) < len(o.path)) {
			return o.path, o.rights
		}
	}
	return "", 0
}

// rightsAt is Profile.rightsAt with the places of the jail.
func (c *Case) rightsAt(path string) policy.Rights {
	if place, rights := c.JailPlace(path); place != "" {
		return rights
	}
	return c.Profile.RightsAt(path)
}

// Allows is Profile.Allows with the places of the jail.
func (c *Case) Allows(op policy.Op, path string) bool {
	decides := path
	need := policy.Read
	switch op {
	case policy.OpCreate, policy.OpMkdir:
		decides, need = filepath.Dir(path), policy.Create
	case policy.OpRemove:
		decides, need = filepath.Dir(path), policy.Delete
	case policy.OpWrite, policy.OpTruncate:
		need = policy.Update
	}
	if place, rights := c.JailPlace(decides); place != "" {
		return rights.Has(need)
	}
	return c.Profile.Allows(op, path)
}

// isSystem reports whether path belongs to the runtime baseline, for which users write no
// rules.
func (c *Case) isSystem(path string) bool {
	if place, _ := c.JailPlace(path); place != "" {
		return true
	}
	e, ok := c.Profile.Find(path)
	return ok && e.Origin == policy.OriginBaseline
}

// RepositoryAbove returns the finding that git's repository is above the server's directory, in one
// that is not granted.
func RepositoryAbove(c *Case) Finding {
	below := c.Profile.Dir
	for dir := below; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if c.Exists(filepath.Join(dir, ".git")) != Present {
			continue
		}
		if c.rightsAt(dir).Has(policy.Read) || IsTooWide(c, dir) {
			break
		}
		f := Refused(diagnostics.Likely, policy.AxisFs, dir, RightName(policy.Read), "git's repository is "+c.Show(dir)+", which is not granted", change.Object{})
		f.Object = change.Path(dir, policy.Read)
		return f
	}
	return Finding{}
}

// newRepositoryFix is the remedy where git could not create a repository.
const newRepositoryFix = "no rule lets a server create a repository, a worktree or a submodule where your git would trust it: create it outside the jail, or in the server's HOME"

// inGitWorktree reports whether path is in an existing directory that git keeps for a
// worktree or submodule, except for the files in it that point elsewhere.
func inGitWorktree(c *Case, path string) bool {
	switch filepath.Base(path) {
	case "commondir", "gitdir", "config.worktree", "config", "hooks":
		return false
	}
	return c.Profile.InGitInternals(path) && c.Exists(filepath.Dir(path)) == Present
}

// gitDir returns the git directory that contains path, unless path is a protected name in
// it. A rule for the directory leaves those names protected.
func gitDir(c *Case, path string) (dir string, ok bool) {
	before, after, found := strings.Cut(path, "/.git/") // after is a path in the git directory
	if !found {
		return "", false
	}
	for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "remotes", "branches"} {
		if policy.Within("/"+after, "/"+name) {
			return "", false
		}
	}
	if e, ok := c.Profile.Find(path); ok && e.Origin == policy.OriginProtected || change.IsReserved(c.Profile, path) && !inGitWorktree(c, path) {
		return "", false
	}
	return filepath.Join(before, ".git"), true
}
