package learncmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
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

// called returns the tools that are called.
func (l perCall) called() (tools []string) {
	for _, r := range l.asked() {
		if r.Tool != "" && !slices.Contains(tools, r.Tool) {
			tools = append(tools, r.Tool)
		}
	}
	return tools
}

// callsOf returns the tools that are called with a table: its own tool, and with that of config.AnyTool those
// without one.
func (l perCall) callsOf(r *learn.Result, t learn.Table) []string {
	if t.Tool != config.AnyTool {
		return []string{t.Tool}
	}
	own := toolsOf(r)
	return slices.DeleteFunc(l.called(), func(tool string) bool { return slices.Contains(own, tool) })
}

// requestsFor returns which requests call some tools.
func (l perCall) requestsFor(tools []string) []int {
	order := []int{}
	for i, r := range l.asked() {
		if slices.Contains(tools, r.Tool) {
			order = append(order, i)
		}
	}
	return order
}

// workedWith notes that the answers of some tools were the same under a table.
func (l perCall) workedWith(t learn.Table, tools ...string) {
	if l.worked == nil {
		l.worked = map[string]bool{}
	}
	for _, tool := range tools {
		l.worked[under(t, tool)] = true
	}
}

// under names a tool with the rules of a table.
func under(t learn.Table, tool string) string {
	all := []string{tool}
	for _, r := range t.Rules {
		all = append(all, r.Text())
	}
	return strings.Join(all, "\x00")
}

// tryNew tries the tables of tools. A call whose tool had the same table before has the same process, so it is not
// asked again. The round ends at the first answer that is another one, which tryNew returns.
func (l perCall) tryNew(ctx context.Context, r *learn.Result) (different *drive.Difference, err error) {
	table, tools := map[string]learn.Table{}, []string{}
	for _, t := range r.Tables {
		for _, tool := range l.callsOf(r, t) {
			if table[tool] = t; !l.worked[under(t, tool)] {
				tools = append(tools, tool)
			}
		}
	}
	order := l.requestsFor(tools)
	if len(order) == 0 {
		return nil, nil
	}
	left := map[string]int{} // answers that are not there yet
	for _, i := range order {
		left[l.asked()[i].Tool]++
	}
	played, err := l.playTrial(ctx, tried{"with a table for each tool", r, order, func(i int, a drive.Answer) bool {
		d, same := l.expected.CompareAt(i, a)
		if !same {
			different = &d
			return false
		}
		if tool := a.Request.Tool; tool != "" {
			if left[tool]--; left[tool] == 0 {
				l.workedWith(table[tool], tool)
			}
		}
		return true
	}})
	if n := l.lists() + len(order); err == nil && different == nil && len(played.Answers) < n {
		i := max(0, len(played.Answers)-l.lists())
		different = &drive.Difference{Request: l.asked()[order[i]], Was: "an answer", Is: "no answer"}
	}
	return different, err
}
