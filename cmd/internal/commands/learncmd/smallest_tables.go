package learncmd

import (
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// inTable is a rule of the table of a tool.
type inTable struct{ tool, id string }

// shrinkTables leaves out rules of the tables of tools. A call has a process with the table of its tool alone, so one
// round tries rules of all tables at once: the answers of a tool tell of its own table. What was found to be needed in
// one process is not tried again.
func (l perCall) shrinkTables(ctx context.Context) error {
	if first := l.expected.First; first.Broken != nil { // then it is not known which answer is whose
		return nil
	}
	before, tried := countRules(l.result), map[inTable]bool{}
	for {
		groups := map[string][][]string{} // of IDs to try, for each table
		for _, t := range l.result.Tables {
			if g := l.groups(t, tried); g != nil {
				groups[t.Tool] = g
			}
		}
		if len(groups) == 0 {
			break
		}
		for len(groups) > 0 {
			if err := l.tryTables(ctx, groups); err != nil {
				return err
			}
		}
	}
	l.dropUncalled()
	l.smallest, l.dropped = true, l.dropped+max(0, before-countRules(l.result))
	return nil
}

// groups returns the rules of a table that are to be tried: those of the start together, and each other one by itself.
// Where an answer is another one each time, or no call has the table, nothing tells whether they are needed.
func (l perCall) groups(t learn.Table, tried map[inTable]bool) (groups [][]string) {
	calls := l.callsOf(l.result, t)
	if len(calls) == 0 || slices.ContainsFunc(l.expected.Unsteady(), func(q drive.Request) bool { return slices.Contains(calls, q.Tool) }) {
		return nil
	}
	var ofStart []string
	for _, r := range t.Rules {
		at := inTable{t.Tool, r.ID}
		if tried[at] || l.needed[at] || l.needed[inTable{config.AnyTool, r.ID}] || !l.tells(r) || writes(r) {
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

// writes reports whether a call writes by a rule. An answer need not show what was written, or where.
func writes(r learn.Rule) bool {
	return r.Fs != nil && r.Fs.Rights()&policy.Write != 0 && !isOfStart(r)
}

// tryTables has a round without the first group of each table. Groups without which the answers of their tools are the
// same are left out. Of others, each half is tried later.
func (l perCall) tryTables(ctx context.Context, groups map[string][][]string) error {
	p, without, table, same := l, map[string][]string{}, map[string]string{}, map[string]bool{}
	var calls []string
	for _, t := range l.result.Tables {
		if g := groups[t.Tool]; g != nil {
			without[t.Tool], same[t.Tool] = g[0], true
			for _, tool := range p.callsOf(l.result, t) {
				calls, table[tool] = append(calls, tool), t.Tool
			}
		}
	}
	order, missing := p.requestsFor(calls), map[int]bool{}
	for _, i := range order {
		missing[p.lists()+i] = true
	}
	_, err := p.playTrial(ctx, tried{"without some rules of each tool, to see whether they are needed", l.result.WithoutOf(without), order, func(i int, a drive.Answer) bool {
		delete(missing, i)
		if _, equal := l.expected.CompareAt(i, a); !equal && a.Request.Tool == "" {
			clear(same) // it is of no table
		} else if !equal {
			delete(same, table[a.Request.Tool])
		}
		return len(same) > 0
	}})
	if err != nil {
		return err
	}
	for i := range missing {
		delete(same, table[p.asked()[i-p.lists()].Tool])
	}
	drop := map[string][]string{}
	for tool, ids := range without {
		if groups[tool] = groups[tool][1:]; same[tool] {
			drop[tool] = ids
		} else if half := len(ids) / 2; half > 0 {
			groups[tool] = append(groups[tool], ids[:half], ids[half:])
		}
		if len(groups[tool]) == 0 {
			delete(groups, tool)
		}
	}
	if len(drop) > 0 {
		l.result = l.result.WithoutOf(drop)
	}
	return nil
}

// dropUncalled leaves out of the table of AnyTool, if no call has it, the rules that no other table has any more.
func (l perCall) dropUncalled() {
	has := map[string]bool{}
	for _, t := range l.result.Tables {
		for _, r := range t.Rules {
			has[r.ID] = has[r.ID] || t.Tool != config.AnyTool
		}
	}
	for _, t := range l.result.Tables {
		if t.Tool != config.AnyTool || len(l.callsOf(l.result, t)) > 0 || len(l.result.Tables) == 1 {
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
