package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/programs"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// userPath returns the path in the user's home that has the place of a path in the server's
// private HOME. A rule that grants it shows it there.
func userPath(c *facts.Case, path string) (user string, ok bool) {
	home := c.Profile.Home
	if !c.Profile.HomePrivate || home == "" || c.Evidence.UserHome == "" || path == home || !policy.Within(path, home) {
		return "", false
	}
	return filepath.Join(c.Evidence.UserHome, path[len(home):]), true
}

// privatePath is the inverse of userPath.
func privatePath(c *facts.Case, path string) (private string, ok bool) {
	if !c.Profile.HomePrivate || c.Profile.Home == "" || !inUserHome(c, path) || path == c.Evidence.UserHome {
		return "", false
	}
	return filepath.Join(c.Profile.Home, path[len(c.Evidence.UserHome):]), true
}

// namedInHome returns the finding about a path in the private HOME, where the server found nothing.
// user is the path in the user's home that has the same place.
func namedInHome(c *facts.Case, path, user string, n words.Name) facts.Finding {
	if c.Exists(path) == facts.Present && n.Fault != words.Absent { // the server has it, and means it
		return facts.Finding{}
	}
	real, dir := c.Canonical(user), filepath.Dir(user)
	missing := missingRights(c, real, n)
	switch makes := n.Want&policy.Write != 0; {
	case isProgram(c, real) && n.Want.Has(policy.Execute):
		missing = policy.Execute &^ c.RightsAt(real)
	case c.Exists(real) == facts.Absent && makes && c.Exists(dir) == facts.Present && dir != c.Evidence.UserHome:
		return itsOwn(InHome(c, report.Likely, dir, policy.Read|policy.Write, c.Who()+" tried to make "+c.Show(user)+" in its own HOME. It probably means yours, where it may not write"))
	}
	rel := path[len(c.Profile.Home)+1:]
	if moved := filepath.Join(c.Evidence.StartDir, rel); c.Evidence.StartDir != "" && c.Profile.Dir != c.Evidence.StartDir && c.Exists(real) != facts.Present && c.Exists(moved) == facts.Present {
		return facts.Finding{
			Note: c.Quote(rel) + " is relative, and the server starts in its own HOME, and not where " + c.Quote(moved) + " is",
			Fix:  "write its absolute path: '" + show.Line(c.Evidence.Redactor.Redact(moved)) + "'", NoLine: true, AboutPolicy: true,
			Hint: report.Hint{Attribution: report.Likely, Explain: report.PagePathArg},
		}
	}
	if c.Exists(real) != facts.Present || !counts(c, real, missing) {
		return facts.Finding{}
	}
	return itsOwn(InHome(c, report.Likely, user, missing, c.Who()+" looked for "+c.Show(user)+" in its own HOME. It probably means yours, which it may not see"))
}

// itsOwn marks the cause of a finding as sentences of its own, unless another cause took its place.
func itsOwn(f facts.Finding) facts.Finding {
	f.Hint.Whole = true
	return f
}

// InHome returns the finding that a right on a path in the user's home is missing. Its rule has the
// name under which the server looks for it, before links.
func InHome(c *facts.Case, sure report.Attribution, user string, missing policy.Rights, cause string) facts.Finding {
	if dir := treeOf(c, user); dir != "" && missing&policy.Write == 0 {
		user, missing = dir, missing|policy.Read|policy.Execute
	}
	real := c.Canonical(user)
	f := Attribute(c, sure, real, missing, false, cause)
	f.Hint.Target = user
	if f.Grant.Path != "" {
		f.Grant.Path = inHome(c, user, f.Grant.Path)
	}
	return Withhold(c, f, false)
}

// inHome returns the part of a path in the user's home that leads to real, or real.
func inHome(c *facts.Case, path, real string) string {
	for dir := path; dir != filepath.Dir(dir) && inUserHome(c, dir); dir = filepath.Dir(dir) {
		if c.Canonical(dir) == real {
			return dir
		}
	}
	return real
}

// treeOf returns the program tree that a path in the user's home is or lies in, or "".
func treeOf(c *facts.Case, path string) string {
	for _, name := range programs.Trees() {
		if dir := filepath.Join(c.Evidence.UserHome, name); policy.Within(path, dir) && c.Exists(dir+"/.") == facts.Present {
			return dir
		}
	}
	return ""
}

// isProgram reports whether a path is a file that the host may execute.
func isProgram(c *facts.Case, path string) bool {
	return c.Exists(path) == facts.Present && c.Exists(path+"/.") != facts.Present && c.May(path, policy.Execute)
}

// programDir returns the directory that a program needs besides its file, or "": its own, if it keeps
// its data there, or the one around bin with a lib. Programs of the system and of the workspace have
// none here.
func programDir(c *facts.Case, program string) string {
	dir := filepath.Dir(program)
	has := func(name string) bool { return c.Exists(filepath.Join(dir, name)) == facts.Present }
	if !slices.ContainsFunc(programs.Marks(), has) {
		bin := dir
		if dir = filepath.Dir(bin); filepath.Base(bin) != "bin" || !has("lib") {
			return ""
		}
	}
	if inWorkspace(c, program) || systemDir(program) || c.Exists(program) != facts.Present || whyShared(c, dir) != "" || IsSensitive(c, dir) {
		return ""
	}
	return dir
}

// Needed returns the findings about what a granted program needs elsewhere in the home, and about
// what a row of known programs says is there.
func Needed(c *facts.Case, sure report.Attribution, places []string, cause string) (all []facts.Finding) {
	for _, place := range places {
		path := filepath.Join(c.Evidence.UserHome, place)
		real := c.Canonical(path)
		if c.Evidence.UserHome == "" || c.Exists(real) != facts.Present {
			continue
		}
		missing := policy.Read &^ c.RightsAt(real)
		if isSocket(path) {
			missing = policy.Update &^ c.RightsAt(real)
		}
		if missing == 0 || !c.May(real, missing) {
			continue
		}
		f := InHome(c, report.Certain, path, missing, cause+" "+c.Show(path)+", which is not granted") // the place is not the server's word
		f.Hint.Attribution = sure
		all = append(all, forSocket(c, f, isSocket(path)))
	}
	return all
}

// WithNeeds returns a finding about a program with those about what it needs besides.
func WithNeeds(c *facts.Case, f facts.Finding) []facts.Finding {
	all := []facts.Finding{f}
	if f.Grant.Path == "" || !f.Grant.Rights.Has(policy.Execute) || !inUserHome(c, f.Grant.Path) {
		return all
	}
	dir := f.Grant.Path
	if c.Exists(dir+"/.") != facts.Present {
		dir = filepath.Dir(dir)
	}
	rel, _ := filepath.Rel(c.Evidence.UserHome, dir)
	for _, needed := range Needed(c, f.Hint.Attribution, programs.NeedsOf(rel), "a program of "+c.Show(dir)+" needs") {
		needed.Besides = true
		all = append(all, needed)
	}
	return all
}

// Beside returns the findings about a module that lies beside a file of the server's line, or above it,
// where the server may not read. The grant is for the directory, since modules import each other.
func Beside(c *facts.Case, modules []string, cause string) []facts.Finding {
	files := words.Importers(c.Evidence.Text + "\n" + strings.Join(c.Evidence.Stderr, "\n"))
	for _, arg := range append(files, c.Profile.Argv...) {
		file, ok := c.Absolute(arg)
		if !ok || !strings.Contains(arg, "/") || c.Exists(file) != facts.Present || c.Exists(file+"/.") == facts.Present {
			continue
		}
		for dir, level := filepath.Dir(file), 0; dir != filepath.Dir(dir) && level < 4; dir, level = filepath.Dir(dir), level+1 {
			for _, name := range modules {
				path := filepath.Join(dir, name)
				real := c.Canonical(path)
				if c.Exists(real) != facts.Present || c.Allows(policy.OpRead, real) || !c.May(real, policy.Read) {
					continue
				}
				cause += " " + c.Show(path) + ", which is not granted"
				if around := filepath.Dir(real); filepath.Ext(real) != "" && whyShared(c, around) == "" && Harm(c, around, policy.Read) == (policy.Harm{}) {
					real = around
				}
				return []facts.Finding{Withhold(c, Attribute(c, report.Likely, real, policy.Read, false, cause), false)}
			}
		}
	}
	return nil
}
