package learncmd

import (
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// shrink leaves out each rule without which the server gives the same answers. Of rules that the start alone
// has used many are often not needed: it tries them together, and then halves of those that are. A rule that a
// call has used it tries by itself. In place of a directory there can be rules for what is in it, which it tries,
// too. Rules about hosts stay: with a closed network, nothing tells whether they are needed. So do those of
// calls whose answers are other ones each time.
func (l *lesson) shrink(ctx context.Context) error {
	if len(l.differences) > 0 || l.sessions > 0 { // the requests of sessions are not asked again
		return nil
	}
	if !l.result.Stateful {
		return (perCall{l}).shrinkTables(ctx)
	}
	if l.tried == nil {
		l.tried, l.needed = map[string]bool{}, map[inTable]bool{}
	}
	before := len(l.result.Rules())
	for {
		var ofStart, ofCalls []string
		for _, r := range l.result.Rules() {
			switch {
			case l.tried[r.ID], !(perCall{l}).tells(r):
				continue
			case isOfStart(r):
				ofStart = append(ofStart, r.ID)
			default:
				ofCalls = append(ofCalls, r.ID)
			}
			l.tried[r.ID] = true
		}
		if len(ofStart)+len(ofCalls) == 0 {
			break
		}
		for _, id := range ofCalls {
			if err := l.leaveOut(ctx, []string{id}); err != nil {
				return err
			}
		}
		if err := l.leaveOut(ctx, ofStart); err != nil {
			return err
		}
	}
	l.smallest, l.dropped = true, l.dropped+max(0, before-len(l.result.Rules()))
	return nil
}

// tells reports whether the answers tell whether a rule is needed.
func (l perCall) tells(r learn.Rule) bool {
	return r.Axis != policy.AxisNet && !(r.Axis == policy.AxisEnv && l.needsVariables()) && !l.isUnsteady(r)
}

// isOfStart reports whether no call has used a rule.
func isOfStart(r learn.Rule) bool {
	_, atStart := r.Tools[""]
	return len(r.Tools) == 0 || atStart && len(r.Tools) == 1
}

// isUnsteady reports whether a rule was used by a call whose answers are other ones each time: they do not tell
// whether it is needed.
func (l perCall) isUnsteady(r learn.Rule) bool {
	return slices.ContainsFunc(l.expected.Unsteady(), func(q drive.Request) bool {
		_, used := r.Tools[q.Tool]
		return q.Tool != "" && used
	})
}

// needsVariables reports whether the variables that the user hands over stay without being tried: a tool that
// was not called may read one, and a token is of use only to a host that is reached.
func (l *lesson) needsVariables() bool {
	closed := len(l.hosts) == 0 && slices.ContainsFunc(l.result.Rules(), func(r learn.Rule) bool { return r.Axis == policy.AxisNet })
	return closed || len(l.skipped) > 0
}

// leaveOut leaves out all of some rules, or tries each half.
func (l *lesson) leaveOut(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	what := "without some rules, to see whether they are needed"
	if len(ids) == 1 {
		what = "without " + show.Line(ids[0]) + ", to see whether it is needed"
	}
	without := l.result.Without(ids...)
	played, d, err := (perCall{l}).try(ctx, what, without)
	if err != nil {
		return err
	}
	if d == nil {
		l.result, l.droppedIDs = without, append(l.droppedIDs, ids...)
		return nil
	}
	if len(ids) == 1 {
		by := d.Request.Tool
		if len(played.Answers) == 0 {
			by = config.AnyTool // without the rule the server does not start for any tool
		}
		l.needed[inTable{by, ids[0]}] = true
		if l.verbose {
			l.c.Notef("%s is needed: without it %s is not the same: %s\n  now: %s", show.Line(ids[0]), d.Request, d.Was, d.Is)
		}
		return nil
	}
	half := len(ids) / 2
	if err := l.leaveOut(ctx, ids[:half]); err != nil {
		return err
	}
	return l.leaveOut(ctx, ids[half:])
}
