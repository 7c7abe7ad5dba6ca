package starts

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// NamedProgram returns the finding that a program, which a failing line names, is on this machine, and
// the jail does not have it or does not start it.
func NamedProgram(c *facts.Case, name string) facts.Finding {
	outside := "" // the first file of that name that may not be executed
	for _, dir := range filepath.SplitList(names.SearchPath(c)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := c.Canonical(filepath.Join(dir, name))
		switch {
		case c.Exists(found) != facts.Present || c.Exists(found+"/.") == facts.Present || !c.May(found, policy.Execute):
			continue
		case c.RightsAt(found).Has(policy.Execute): // as execvp would: the first one
			if c.Profile.Programs != nil && !names.IsListed(c, name) {
				return names.AttributeProgram(c, report.Likely, name, "the server's message names the program "+c.Quote(name)+", which the policy's commands do not list")
			}
			return facts.Finding{}
		case outside == "":
			outside = filepath.Join(dir, name)
		}
	}
	if outside == "" {
		return facts.Finding{}
	}
	f := paths.InHome(c, report.Likely, outside, policy.Execute, "the server's message names the program "+c.Quote(name)+": "+c.Show(outside)+" is not granted")
	f.Hint.Axis = policy.AxisProcess
	return f
}

// AnalyzeDenial analyzes a denial to start a program.
func AnalyzeDenial(c *facts.Case, d policy.Denial, cause string) facts.Finding {
	if d.Reason == policy.DeniedArguments {
		return analyzeStartArguments(c, d)
	}
	path, ok := c.Absolute(d.Target)
	if !ok || !strings.Contains(d.Target, "/") {
		return names.AttributeProgram(c, report.Certain, d.Target, cause)
	}
	if c.RightsAt(path).Has(policy.Execute) && c.Profile.Programs != nil {
		f := names.AttributeProgram(c, report.Certain, names.CommandName(c, path), cause)
		f.Hint.Target = path
		return f
	}
	f := paths.Attribute(c, report.Certain, path, policy.Execute, false, cause)
	f.Hint.Axis = policy.AxisProcess
	return f
}

func analyzeStartArguments(c *facts.Case, d policy.Denial) facts.Finding {
	name := ruleFor(c, d)
	said := d
	said.Arguments = make([]string, len(d.Arguments))
	for i, arg := range d.Arguments {
		said.Arguments[i] = c.Evidence.Redactor.Redact(arg)
	}
	f := names.AttributeProgram(c, report.Certain, name, report.Blocked(said, c.Show(d.Target))+": no rule of access.commands allows that")
	f.Hint.Target, f.Hint.Explain = d.Target+report.Arguments(said), report.PageArguments
	switch {
	case f.Grant.IsZero():
	case misnamed(c, d, name):
		f.Grant = grants.Grant{}
		f.Fix = "start it under the name or the path in its rule" + inRule(c, d) + ": the one that it got decides where some programs take their code from"
	case unnamed(c, d, name):
		f.Grant = grants.Grant{}
		f.Fix = "no rule is for that name: start it as " + c.Show(filepath.Base(name)) + ", and allow that in a rule of access.commands"
	default:
		f.Grant = grants.Grant{}
		f.Fix = "allow it by hand, in access.commands." + show.Key(name)
	}
	return f
}

// ruleFor returns the name that the rules have for the refused program, or would have. If
// several rules are about the file, the name that the program was started with decides.
func ruleFor(c *facts.Case, d policy.Denial) string {
	called := ""
	if len(d.Arguments) > 0 && d.Arguments[0] != "" {
		called = filepath.Base(d.Arguments[0])
	}
	found := ""
	for _, c := range c.Profile.Commands {
		for _, s := range c.Starts {
			if s.Script == d.Target || s.Script == "" && s.File == d.Target && s.Name == called {
				found = cmp.Or(found, c.Name)
			}
		}
	}
	if found == "" && called != "" && names.Finds(c, called, d.Target) {
		return called
	}
	return cmp.Or(found, names.CommandName(c, d.Target))
}

// misnamed reports whether there is a rule for the program, and argv[0] is not in it, nor another
// name of the file, for which there could be a rule.
func misnamed(c *facts.Case, d policy.Denial, name string) bool {
	rules := startsOf(c, d.Target)
	return len(d.Arguments) > 0 && len(rules) > 0 && !slices.ContainsFunc(rules, func(s policy.Start) bool {
		called := d.Arguments[0]
		return s.Script != "" || s.Accepts(called) || called != "" && called == name
	})
}

// inRule returns the name in the rule of a program, as a part of a sentence.
func inRule(c *facts.Case, d policy.Denial) string {
	for _, s := range startsOf(c, d.Target) {
		if s.Name != "" {
			return " (" + c.Quote(s.Name) + ")"
		}
	}
	return ""
}

// unnamed reports whether a new rule under a name would refuse argv[0] of the start. It decides as
// policy.Start.Accepts does with the paths that package resolve finds for that name. If there is
// a rule for the program already, misnamed decides.
func unnamed(c *facts.Case, d policy.Denial, name string) bool {
	if len(d.Arguments) == 0 || len(startsOf(c, d.Target)) > 0 {
		return false
	}
	called := d.Arguments[0]
	switch dir := filepath.Dir(called); {
	// A rule accepts its name, its path, and the file itself.
	case called == filepath.Base(name), called == name, called == d.Target:
		return false
	case !filepath.IsAbs(called) || filepath.Base(called) != filepath.Base(name):
		return true
	default:
		found := c.Canonical(called) == d.Target || c.Evidence.Canonical != nil && c.Evidence.Canonical(called) == d.Target
		return !found || !slices.Contains(filepath.SplitList(names.SearchPath(c)), dir) || c.RightsAt(dir)&policy.Write != 0
	}
}

func startsOf(c *facts.Case, file string) (all []policy.Start) {
	for _, command := range c.Profile.Commands {
		for _, s := range command.Starts {
			if s.Script == file || s.Script == "" && s.File == file {
				all = append(all, s)
			}
		}
	}
	return all
}
