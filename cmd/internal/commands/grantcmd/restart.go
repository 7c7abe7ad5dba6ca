package grantcmd

import (
	"context"
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

const startedAgain = "It is started again between two calls, within seconds; what it holds in memory is lost."

// findRunning finds out whether a session of the server runs that can start it again, and how the policy of that differs
// from the one of the files. The tries of learn, which come later, do not count.
func (e *Edit) findRunning() {
	p := e.was[""].target.Policy
	d, err := records.Open(e.host, p.KeptName())
	if err != nil {
		return
	}
	defer d.Close()
	e.runs = p.Stateful && d.Running()
	if r, err := records.Load(e.host, p.KeptName()); err == nil && r.Unfinished && e.runs {
		e.kept = r.Kept
	}
}

// sayRunning says above the question what the change does to the server that runs. Started again, it gets what was written
// without a typed answer, too.
func (e *Edit) sayRunning(c terminal.Console, how How) []string {
	e.typed = !how.Yes && !how.DryRun && c.Asks()
	if !e.runs || !e.typed {
		return nil
	}
	if e.kept != nil && len(e.kept.Rows) > 0 {
		c.PrintText("\n" + show.Name(e.word) + " runs under an earlier policy. It also gets what its files have since then:\n\n" + table80(e.kept.Rows))
	}
	return []string{show.Name(e.word) + " runs now. " + startedAgain}
}

// takesEffect tells the sessions of the server, if the user has typed the answer, and says when the policy holds.
func (e *Edit) takesEffect() string {
	switch {
	case !e.runs:
		return e.nextStart()
	case !e.typed:
		return show.Name(e.word) + " runs now, and has it from its next start on. " + e.nextStart()
	}
	if err := e.wish(); err != nil {
		return fmt.Sprintf("%s runs now, and cannot be told: %s. %s", show.Name(e.word), show.Line(err.Error()), e.nextStart())
	}
	text := show.Name(e.word) + " is started again where it runs now."
	if e.remove {
		text += " Until then it keeps what it had."
	}
	return text
}

// nothing says that there is nothing to write. The server may run under an earlier policy.
func (e *Edit) nothing(c terminal.Console, how How) error {
	if e.kept != nil && !how.Yes && !how.DryRun && c.Asks() {
		c.PrintText("Nothing to change. ")
		return e.offer(c, false)
	}
	c.PrintText("Nothing to change. " + e.nextStart() + "\n")
	return nil
}

func (e *Edit) wish() error {
	return records.WishRestart(e.host, e.was[""].target.Policy.KeptName())
}

// offer shows what a server has that runs, and what its files say, and offers to start it again.
func (e *Edit) offer(c terminal.Console, yes bool) error {
	who := show.Name(e.word)
	if !e.runs {
		return terminal.UsageErrorf("say what to allow, such as --read PATH, --net HOST or --env NAME. --last allows what the last failure needed")
	}
	text := who + " runs under the policy that its files have."
	if e.kept != nil {
		text = e.kept.Text(who) + "\n\n" + table80(e.kept.Rows)
	}
	c.PrintText(text + "\n")
	if yes {
		return terminal.UsageErrorf("nothing was changed: --yes does not start %s again. Run it on a terminal, without --yes", who)
	}
	c.PrintText(startedAgain + "\n\n")
	if err := cli.Confirm(context.Background(), c, "Start it again?"); err != nil {
		return err
	}
	if err := e.wish(); err != nil {
		return err
	}
	c.PrintText(who + " is started again where it runs now.\n")
	return nil
}
