package starts

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
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
				return names.AttributeProgram(c, report.Likely, name, c.Who()+" may not start "+c.Name(name)+", which access.commands does not list")
			}
			return facts.Finding{}
		case outside == "":
			outside = filepath.Join(dir, name)
		}
	}
	if outside == "" {
		return facts.Finding{}
	}
	f := paths.InHome(c, report.Likely, outside, policy.Execute, c.Who()+" may not start "+c.Show(outside))
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

// analyzeStartArguments analyzes the start of a program whose rules do not list its arguments, or the
// name that it got. No flag of grant says that.
func analyzeStartArguments(c *facts.Case, d policy.Denial) facts.Finding {
	said := d
	said.Arguments = make([]string, len(d.Arguments))
	for i, arg := range d.Arguments {
		said.Arguments[i] = c.Evidence.Redactor.Redact(arg)
	}
	target := d.Target + report.Arguments(said)
	f := facts.Refused(report.Certain, policy.AxisProcess, target, "program", report.Blocked(said, c.Show(d.Target))+": no rule of access.commands allows that", grants.Grant{})
	f.Hint.Explain = report.PageArguments
	return f.Unfixable("only a rule that you write allows it, in access.commands: for the name or the path under which it is to be started")
}
