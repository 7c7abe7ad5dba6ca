package learncmd

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// end says what came of the tries, asks, and writes or prints the policy.
func (l *loop) end() error {
	l.report()
	answered := len(l.last.tools) > 0
	l.takeProposed()
	switch {
	case !l.edit.Changed() && !answered && len(l.last.failed) == 0:
		l.c.PrintText("Nothing was changed: no tool was called.\n")
	case !l.edit.Changed() && len(l.left) == 0 && len(l.last.failed) == 0:
		l.c.PrintText("Nothing to change: " + show.Name(l.name) + " has all that these calls need.\n")
	case !l.edit.Changed():
		l.c.PrintText("Nothing was changed. A call failed, and nothing that it needed was allowed.\n")
	case !answered && (l.yes || !l.c.Asks()):
		l.sayLeft()
		return errors.New("nothing was changed: no call answered, and learn writes nothing then without a question")
	default:
		if err := l.edit.Write(l.c, grantcmd.How{Yes: l.yes, Named: true, By: "learn"}); err != nil {
			l.sayLeft()
			return err
		}
	}
	l.sayLeft()
	if !answered || len(l.left) > 0 {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}

// report says which calls answered, and which failed and why.
func (l *loop) report() {
	t := l.last
	l.c.PrintText(l.c.Paint(terminal.Bold, show.Name(l.name)) + "  " + show.Line(t.about) + "\n")
	if len(t.tools) > 0 {
		l.c.PrintText("  answered   " + strings.Join(t.tools, ", ") + "\n")
	}
	for _, f := range t.failed {
		l.c.PrintText("  failed     " + f.call + ": " + f.why + "\n")
	}
	if l.drive == nil {
		l.reportSkipped(t.skipped)
	}
	for _, host := range t.hosts {
		l.c.PrintText("  blocked    " + show.Name(host) + "\n")
	}
	var refused []string
	for _, d := range t.refused {
		text := l.did(d)
		if !slices.Contains(refused, text) && len(refused) < 10 {
			refused = append(refused, text)
		}
	}
	for _, text := range refused {
		l.c.PrintText("  blocked    " + text + " (the call answered)\n")
	}
}

// reportSkipped says which tools were not called, for each reason, and how one of them is.
func (l *loop) reportSkipped(skipped []Skipped) {
	of, example := map[string][]string{}, ""
	for _, s := range skipped {
		of[s.Why], example = append(of[s.Why], show.InSentence(s.Tool)), cmp.Or(example, s.Example)
	}
	for _, why := range slices.Sorted(maps.Keys(of)) {
		l.c.PrintText("  not called " + strings.Join(of[why], ", ") + ": " + why + "\n")
	}
	if example != "" {
		l.c.PrintText("  to call these too, write such lines into a file, and name it with --drive:\n    " + show.Line(example) + "\n")
	}
}

func (l *loop) did(d policy.Denial) string {
	return show.Line(d.Operation) + " " + l.edit.Short(d.Target)
}

// takeProposed adds what is not tried to what is asked for. Without a question it is left out.
func (l *loop) takeProposed() {
	for _, g := range l.proposed {
		if l.yes || !l.c.Asks() {
			g.why = "it is not tried: " + strings.Join(g.by, ", ") + " needs it"
			l.left = append(l.left, g)
			continue
		}
		from := change.Recorded
		if g.Env != "" {
			from = change.Said
		}
		beware := l.edit.Propose(change.Want{Tool: g.tool, Source: from, Object: g.Object}).Because(l.edit.Short(g.Name()))
		if _, err := l.add(g); err != nil {
			g.why = show.Line(err.Error())
			l.left = append(l.left, g)
			continue
		}
		l.c.PrintText("  not tried  " + strings.Join(g.by, ", ") + " needs " + l.need(g) + "\n")
		if beware != "" { // the question about all of it takes that for said
			l.c.PrintText("  careful    " + show.Line(beware) + "\n")
		}
	}
}

// sayLeft names what was left out, with the command that grants it.
func (l *loop) sayLeft() {
	for _, g := range l.left {
		command := ""
		if !g.closed {
			command = " To allow it:\n  " + l.edit.Command(g.tool, g.Words())
		}
		l.c.Notef("%s %s: %s.%s", l.c.Paint(terminal.Yellow, "skipped:"), l.edit.Short(g.Name()), g.why, command)
	}
}
