package starts

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
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
			f := names.AttributeProgram(c, report.Certain, ref.Name, "the jail refused "+report.Operation(d)+" "+c.Quote(ref.Name))
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
