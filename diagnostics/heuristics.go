package diagnostics

import (
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/limits"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/starts"
)

// heuristics returns a possible cause if no refused name was found. It is never more
// than Possible.
func heuristics(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	if f, ok := limits.AnalyzeSignal(c); ok {
		return f, true
	}
	if f, ok := starts.BrowserSandbox(lines); ok {
		return f, true
	}
	if f, ok := limits.Analyze(c, lines); ok {
		return f, true
	}
	if f, ok := paths.CrossDevice(c, lines); ok {
		return f, true
	}
	for _, line := range lines {
		if said.RefusedElsewhere(line) {
			continue
		}
		fault, signature := said.MatchFault(line)
		switch fault {
		case said.NoFault, said.Absent:
			continue
		case said.Network:
			if f, ok := starts.PackageDownload(c); ok {
				return f, true
			}
		}
		note := c.ServerSaid(line) + "; a refusal of the jail looks like this (" + signature + "), and so do other faults"
		if fault == said.Network && c.Evidence.Profile != nil && len(c.Profile.Net) == 0 {
			note += "; the policy grants no network"
		}
		return facts.Finding{Note: note, Fix: c.PlanFix()}, true
	}
	if args := paths.TildeArguments(c); args != nil && c.Evidence.Stage == StageStartup && c.Evidence.Exit != nil {
		return facts.Finding{Note: paths.TildeText(c, args), Fix: paths.TildeFix(c, args), Hint: Hint{Explain: PagePathArg}}, true
	}
	// A launcher that waits for a network says nothing for a minute.
	if c.Evidence.Timeout > 0 || c.Evidence.Stage == StageStartup && len(lines) == 0 {
		return starts.PackageDownload(c)
	}
	return facts.Finding{}, false
}
