package diagnostics

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/network"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeSettings returns what the programs that wrote the text of the failure keep in the user's home.
func analyzeSettings(c *facts.Case, lines []string, sure Attribution) (all candidates) {
	ran := func(program string) bool {
		return slices.ContainsFunc(c.Evidence.Denials, func(d policy.Denial) bool { return filepath.Base(d.Program) == program })
	}
	for at, line := range lines {
		if fault, _ := said.MatchFault(line); fault == said.Network && sure != Likely {
			continue
		}
		for _, f := range paths.AnalyzeSettings(c, line, ran) {
			if f.Hint.Attribution == sure {
				all.add(candidate{Finding: f, distance: at, named: true, lines: []int{at}})
			}
		}
	}
	return all
}

// say reports whether a line is that of a program which lacks its settings. A host in it is the one
// that it would ask without them, or that has asked for a login.
func (all candidates) say(line int) bool {
	return slices.ContainsFunc(all, func(f candidate) bool { return slices.Contains(f.lines, line) })
}

// analyzeMentions returns the paths in the text of the failure that no words connect to it, and what
// its programs may miss. They count only if there is no other cause. cleared is what the policy is
// known not to refuse.
func analyzeMentions(c *facts.Case, lines []string, cleared *facts.Finding) (candidates, *facts.Finding) {
	if _, ok := paths.OutsideRoots(c, lines); ok || c.Evidence.Profile == nil || c.Evidence.Start != nil {
		return nil, cleared
	}
	if _, ok := network.Unreached(c, lines); ok {
		return nil, cleared
	}
	var all candidates
	for _, ref := range said.Mentions(lines, c.Escaped) {
		switch f := paths.AnalyzeMention(c, ref); {
		case f.Refused:
			all.add(candidate{Finding: f, distance: ref.Line, named: true})
		case f.Note != "" && cleared == nil:
			cleared = &f
		}
	}
	if len(names.WithheldFor(c, lines)) > 0 { // surer than a place that such words may be about
		return ranked(c, all, len(lines)), cleared
	}
	for _, f := range analyzeSettings(c, lines, Possible) {
		all.add(f)
	}
	for at, line := range lines {
		if f := paths.AnalyzeOwnSettings(c, line); f.Refused {
			all.add(candidate{Finding: f, distance: at, named: true})
		}
	}
	return ranked(c, all, len(lines)), cleared
}
