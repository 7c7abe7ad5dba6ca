package diagnostics

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// commandBlock returns the table of a program. A file cannot have a table twice, so the new table
// also has the arguments and variables of the present one. Where the program has several tables,
// one more is added to them.
func (w grantWriter) commandBlock(table string, n grant) []string {
	if n.args == "" {
		return []string{"[" + table + "]"}
	}
	var rules []policy.CommandRule
	for _, c := range w.ev.Profile.Commands {
		if c.Name == n.program {
			r := policy.CommandRule{Args: c.Args, Where: c.Where}
			if c.OnlyEnvs {
				r.Envs = append([]string{}, c.Envs...)
			}
			rules = append(rules, r)
		}
	}
	if len(rules) > 1 {
		return []string{"[[" + table + "]]", "args = [" + n.args + "]"}
	}
	lines := []string{"[" + table + "]"}
	args := "args = [" + n.args + "]"
	if len(rules) == 0 {
		return append(lines, args)
	}
	if where := rules[0].Where; where != "" {
		lines = append(lines, inPlaceOf+show.Line(where))
	}
	fields := rules[0].TOMLFields()
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "args = ") }); i >= 0 {
		fields[i] = strings.TrimSuffix(fields[i], "]") + ", " + n.args + "]"
		return append(lines, fields...)
	}
	return append(append(lines, args), fields...)
}

// inPlaceOf begins the line that says which table the lines replace.
const inPlaceOf = "# in place of the table at "

// isReplacement reports whether the lines of a grant say which table of the file they replace.
func (w grantWriter) isReplacement(n grant) bool {
	return slices.ContainsFunc(w.block(n), func(line string) bool { return strings.HasPrefix(line, inPlaceOf) })
}

// analyzeStartArguments analyzes the denial of a start whose arguments no rule allows, or of a
// program that only another one may start.
func (a *analyzer) analyzeStartArguments(d policy.Denial) finding {
	name := a.ruleFor(d)
	said := d
	said.Arguments = make([]string, len(d.Arguments))
	for i, arg := range d.Arguments {
		said.Arguments[i] = a.ev.Redactor.Redact(arg)
	}
	f := a.attributeCommand(Certain, name, "the jail refused to start "+a.show(d.Target)+argumentsOf(said)+programAndCount(d)+": no rule of access.commands allows that")
	f.hint.Target, f.hint.Explain = d.Target+argumentsOf(said), PageArguments
	switch list, ok := a.exactArguments(d); {
	case f.grant.isZero():
	case a.misnamed(d):
		f.grant = grant{}
		f.fix = "start it under the name or the path in its rule: the one that it got decides where some programs take their code from"
	case a.unnamed(d, name):
		f.grant = grant{}
		f.fix = "no rule is for that name: start it as " + a.show(filepath.Base(name)) + ", and allow that in [" + newGrantWriter(a.ev).table() + ".commands." + show.Key(name) + "]"
	case !ok:
		f.grant = grant{}
		f.fix = "allow it by hand, in [" + newGrantWriter(a.ev).table() + ".commands." + show.Key(name) + "]: no line can be offered that says these arguments word for word"
	default:
		f.grant.args = list
	}
	return f
}

// ruleFor returns the name under which the refused program stands in the rules, or would. Where
// several rules are about the file, the name that the program was started with decides.
func (a *analyzer) ruleFor(d policy.Denial) string {
	called := ""
	if len(d.Arguments) > 0 && d.Arguments[0] != "" {
		called = filepath.Base(d.Arguments[0])
	}
	found := ""
	for _, c := range a.profile.Commands {
		for _, s := range c.Starts {
			if s.Script == d.Target || s.Script == "" && s.File == d.Target && s.Name == called {
				found = cmp.Or(found, c.Name)
			}
		}
	}
	if found == "" && called != "" && a.finds(called, d.Target) {
		return called
	}
	return cmp.Or(found, a.commandName(d.Target))
}

// misnamed reports whether there is a rule for the program, and argv[0] is empty or a path that is
// not in the rule.
func (a *analyzer) misnamed(d policy.Denial) bool {
	if len(d.Arguments) == 0 {
		return false
	}
	name, about, accepted := d.Arguments[0], false, false
	for _, c := range a.profile.Commands {
		for _, s := range c.Starts {
			if s.Script == d.Target || s.Script == "" && s.File == d.Target {
				about, accepted = true, accepted || s.Script != "" || s.Accepts(name) || name != "" && filepath.Base(name) == name
			}
		}
	}
	return about && !accepted
}

// unnamed reports whether a new rule under a name would refuse argv[0] of the start. It decides as
// policy.Start.Accepts does with the paths that package resolve finds for that name. Where there is
// a rule for the program already, misnamed decides.
func (a *analyzer) unnamed(d policy.Denial, name string) bool {
	if len(d.Arguments) == 0 || a.isAbout(d.Target) {
		return false
	}
	called := d.Arguments[0]
	switch dir := filepath.Dir(called); {
	case called == filepath.Base(name), called == name, called == d.Target:
		return false
	case !filepath.IsAbs(called) || filepath.Base(called) != filepath.Base(name):
		return true
	default:
		found := a.canonical(called) == d.Target || a.ev.Canonical != nil && a.ev.Canonical(called) == d.Target
		return !found || !slices.Contains(filepath.SplitList(a.searchPath()), dir) || a.rightsAt(dir)&policy.Write != 0
	}
}

// isAbout reports whether a rule is about a file.
func (a *analyzer) isAbout(file string) bool {
	return slices.ContainsFunc(a.profile.Commands, func(c policy.Command) bool {
		return slices.ContainsFunc(c.Starts, func(s policy.Start) bool { return s.Script == file || s.Script == "" && s.File == file })
	})
}

// exactArguments returns the arguments of a denial as the list of a rule that allows them and no
// others. ok is false where they are not all known, or hold a secret.
func (a *analyzer) exactArguments(d policy.Denial) (list string, ok bool) {
	if d.Detail != "" || len(d.Arguments) == 0 {
		return "", false
	}
	for _, arg := range d.Arguments[1:] {
		if a.ev.Redactor.Redact(arg) != arg || show.Line(arg) != arg || arg == policy.AnyArguments || arg == policy.AnyArgument {
			return "", false
		}
	}
	return show.List(d.Arguments[1:]), true
}
