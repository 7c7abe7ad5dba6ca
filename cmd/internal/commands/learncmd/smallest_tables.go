package learncmd

import (
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// inTable is a rule of the table of a tool.
type inTable struct{ tool, id string }

// shrinkTables leaves out rules of the tables of tools. A call has a process with the table of its tool alone, so one
// round tries rules of all tables at once: the answers of a tool tell of its own table. What was found to be needed in
// one process is not tried again.
func (l *lesson) shrinkTables(ctx context.Context) error {
	before, whole, tried := countRules(l.result), l.result, map[inTable]bool{}
	for {
		groups := map[string][][]string{} // of IDs to try, for each table
		for _, t := range l.result.Tables {
			groups[t.Tool] = l.groups(t, tried)
		}
		if !hasGroups(groups) {
			break
		}
		for hasGroups(groups) {
			same, err := l.tryTables(ctx, groups)
			if err != nil {
				l.result = whole
				return err
			}
			if same {
				whole = l.result
			}
		}
	}
	if l.result != whole { // some answers were the same in one round, and others in another one
		_, d, err := l.try(ctx, "under the smallest tables", l.result)
		if d != nil || err != nil {
			l.result = whole
			return err
		}
	}
	l.dropUncalled()
	l.smallest, l.dropped = true, l.dropped+max(0, before-countRules(l.result))
	return nil
}

// groups returns the rules of a table that are to be tried: those of the start together, and each other one by itself.
// Where an answer is another one each time, or no call has the table, nothing tells whether they are needed.
func (l *lesson) groups(t learn.Table, tried map[inTable]bool) (groups [][]string) {
	calls := l.callsOf(t)
	if len(calls) == 0 || slices.ContainsFunc(l.expected.Unsteady(), func(q drive.Request) bool { return slices.Contains(calls, q.Tool) }) {
		return nil
	}
	var ofStart []string
	for _, r := range t.Rules {
		at := inTable{t.Tool, r.ID}
		if tried[at] || l.needed[at] || l.needed[inTable{config.AnyTool, r.ID}] || !l.tells(r) {
			continue
		}
		if tried[at] = true; isOfStart(r) {
			ofStart = append(ofStart, r.ID)
		} else {
			groups = append(groups, []string{r.ID})
		}
	}
	if ofStart != nil {
		groups = append(groups, ofStart)
	}
	return groups
}

func hasGroups(groups map[string][][]string) bool {
	for _, g := range groups {
		if len(g) > 0 {
			return true
		}
	}
	return false
}

// tryTables has a round without the first group of each table. Groups without which the answers of their tools are the
// same are left out, and of others each half is tried later. It reports whether all answers were the same.
func (l *lesson) tryTables(ctx context.Context, groups map[string][][]string) (same bool, err error) {
	first, table, left := map[string][]string{}, map[string]string{}, map[string]bool{}
	for _, t := range l.result.Tables {
		if g := groups[t.Tool]; len(g) > 0 {
			first[t.Tool], groups[t.Tool], left[t.Tool] = g[0], g[1:], true
		}
		for _, tool := range l.callsOf(t) {
			table[tool] = t.Tool
		}
	}
	differs := func(r drive.Request) {
		if r.Tool == "" { // of no table
			clear(left)
		}
		delete(left, table[r.Tool])
	}
	played, err := perCall{l}.playTrial(ctx, "without some rules of each tool, to see whether they are needed", l.result.WithoutOf(first), func(i int, a drive.Answer) bool {
		if d, same := l.expected.CompareAt(i, a); !same {
			differs(d.Request)
		}
		return len(left) > 0
	})
	if err != nil {
		return false, err
	}
	for _, a := range l.expected.First.Answers[min(len(played.Answers), len(l.expected.First.Answers)):] {
		differs(a.Request)
	}
	for tool, ids := range first {
		if half := len(ids) / 2; left[tool] || half == 0 {
			continue
		} else {
			groups[tool] = append(groups[tool], ids[:half], ids[half:])
		}
	}
	drop := map[string][]string{}
	for tool := range left {
		drop[tool] = first[tool]
	}
	if len(drop) > 0 {
		l.result = l.result.WithoutOf(drop)
	}
	return len(drop) == len(first), nil
}

// callsOf returns the tools that are called with a table: its own tool, and with that of AnyTool those without one.
func (l *lesson) callsOf(t learn.Table) (tools []string) {
	if t.Tool != config.AnyTool {
		return []string{t.Tool}
	}
	own := toolsOf(l.result)
	for _, r := range (perCall{l}).asked() {
		if r.Tool != "" && !slices.Contains(own, r.Tool) && !slices.Contains(tools, r.Tool) {
			tools = append(tools, r.Tool)
		}
	}
	return tools
}

// dropUncalled leaves out of the table of AnyTool, if no call has it, the rules that no other table has any more.
func (l *lesson) dropUncalled() {
	has := map[string]bool{}
	for _, t := range l.result.Tables {
		for _, r := range t.Rules {
			has[r.ID] = has[r.ID] || t.Tool != config.AnyTool
		}
	}
	for _, t := range l.result.Tables {
		if t.Tool != config.AnyTool || len(l.callsOf(t)) > 0 || len(l.result.Tables) == 1 {
			continue
		}
		var unused []string
		for _, r := range t.Rules {
			if !has[r.ID] && l.tells(r) {
				unused = append(unused, r.ID)
			}
		}
		if unused != nil {
			l.result = l.result.WithoutOf(map[string][]string{t.Tool: unused})
		}
	}
}

func countRules(r *learn.Result) (n int) {
	for _, t := range r.Tables {
		n += len(t.Rules)
	}
	return n
}
