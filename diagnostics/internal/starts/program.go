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
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeProgram analyzes a program that a text says was not started.
func AnalyzeProgram(c *facts.Case, ref said.Reference) facts.Finding {
	if strings.Contains(ref.Name, "/") {
		ref.Kind, ref.Want = said.Path, policy.Read|policy.Execute
		return paths.Analyze(c, ref)
	}
	var outside string // the first file of that name that may not be executed
	inside := false    // a file of that name may be executed
	file := ""         // the first file of that name
	// As execvp would: the first executable file of that name.
	for _, dir := range filepath.SplitList(names.SearchPath(c)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found := c.Canonical(filepath.Join(dir, ref.Name))
		if c.Exists(found) != facts.Present {
			continue
		}
		if file == "" {
			file = found
		}
		if c.RightsAt(found).Has(policy.Execute) {
			inside = true
			break
		}
		if outside == "" {
			outside = found
		}
	}
	// The record is surer than the text, if it has this file.
	for _, d := range c.Evidence.Denials {
		if file != "" && d.Axis == policy.AxisProcess && d.Target == file && c.Profile.Programs != nil && !names.IsListed(c, ref.Name) {
			f := names.AttributeProgram(c, report.Certain, ref.Name, report.Blocked(policy.Denial{Operation: d.Operation}, c.Quote(ref.Name)))
			f.Hint.Target = file
			return f
		}
	}
	switch {
	case inside && c.Profile.Programs != nil && !names.IsListed(c, ref.Name):
		return names.AttributeProgram(c, report.Likely, ref.Name, "the server's message names the program "+c.Quote(ref.Name)+", which the policy's commands do not list")
	case inside:
		return facts.Finding{}
	case outside != "":
		f := paths.Attribute(c, report.Likely, outside, policy.Execute, false,
			"the server's message names the program "+c.Quote(ref.Name)+", and the policy does not let it execute "+c.Show(outside))
		f.Hint.Axis = policy.AxisProcess
		return f
	case c.Profile.Dir != "" && c.Exists(filepath.Join(c.Profile.Dir, ref.Name)) == facts.Present: // a file in the working directory
		ref.Kind = said.Path
		return paths.Analyze(c, ref)
	case c.Evidence.Exists != nil && c.Evidence.SearchPath != "" && ref.Fault == said.Absent:
		return facts.Finding{
			Note: "the program " + c.Quote(ref.Name) + " is not in the PATH of this host",
			Fix:  "install " + c.Quote(ref.Name),
		}
	}
	return facts.Finding{}
}

// AnalyzeBareName analyzes a name that programs print in the same words for a file and for a program
// that they start (env: tool: No such file or directory). ok is false if it is that of a file. What
// the record says of a program that was not started is not said of a file as well.
func AnalyzeBareName(c *facts.Case, ref said.Reference) (f facts.Finding, ok bool) {
	if slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool {
		return d.Axis == policy.AxisProcess && ref.Fault == said.Refused && filepath.IsAbs(ref.Name) && c.Canonical(ref.Name) == d.Target
	}) {
		return f, true
	}
	unlisted := ref.Fault == said.Refused && c.Profile.Programs != nil
	if ref.From != "" || strings.Contains(ref.Name, "/") || ref.Fault != said.Absent && !unlisted || c.Exists(filepath.Join(c.Profile.Dir, ref.Name)) == facts.Present {
		return f, false
	}
	ref.Kind = said.Program
	f = AnalyzeProgram(c, ref)
	return f, f.Refused
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
