package learncmd

import (
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// toolsOf returns the tools that have tables.
func toolsOf(r *learn.Result) (tools []string) {
	for _, t := range r.Tables {
		if t.Tool != "" {
			tools = append(tools, t.Tool)
		}
	}
	return tools
}

// losesTable returns why the learned tables do not take the place of those that a server has for its tools, or "": a
// lesson says nothing about a tool that was not called, or about what a table takes away.
func losesTable(had *config.Server, r *learn.Result) string {
	if r.Stateful {
		return ""
	}
	for _, tool := range slices.Sorted(maps.Keys(had.Tools)) {
		switch t := had.Tools[tool]; {
		case t.Access == nil:
		case !slices.Contains(toolsOf(r), tool):
			return "the tool " + show.Name(tool) + " has a table, and none was learned for it"
		case len(deniesOf(t.Access.Fs)) > 0:
			return "the table of the tool " + show.Name(tool) + " takes paths away"
		}
	}
	return ""
}

// noteProcesses says whether each call has a process of its own, and why.
func (l perCall) noteProcesses(note func(format string, args ...any)) {
	switch {
	case l.result.Why == "":
	case l.result.Stateful:
		note("one process serves all calls: %s", show.Line(l.result.Why))
		if d := l.ownAnswer; d != nil {
			l.c.Notef("  %s: %s\n    now: %s", d.Request, d.Was, d.Is)
		}
	default:
		note("each tool has a process and a table of its own: %s", show.Line(l.result.Why))
	}
}
