package grantcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

const startedAgain = "It is started again between two calls, within seconds; what it holds in memory is lost."

// outcomePatience is how long grant waits to say what has become of its wish. A server may wait for a call to end.
const outcomePatience = 15 * time.Second

// findRunning finds out whether a session of the server runs that can start it again, and how the policy of that differs
// from the one of the files. The tries of learn, which come later, do not count.
func (e *Edit) findRunning() {
	t := e.was[""].target
	if e.runs, e.runsAs = t.Policy.Stateful && e.running(), t.Written(); !e.runs {
		return
	}
	// The session looks once a second. What it has not seen yet it does not start: see Followed.unseen.
	e.poll(3*time.Second, func(r diagnostics.Record) bool {
		if e.kept = r.Kept; e.kept == nil {
			return true
		}
		e.runsAs = ""
		if e.kept.Files == "" || e.kept.Files == t.Written() {
			e.runsAs = e.kept.Runs
		}
		return e.runsAs != ""
	})
}

func (e *Edit) running() bool {
	d, err := records.Open(e.host, e.was[""].target.Policy.KeptName())
	if err != nil {
		return false
	}
	defer d.Close()
	return d.Running()
}

// poll looks at the record of the session that runs until done, or for a time.
func (e *Edit) poll(limit time.Duration, done func(diagnostics.Record) bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r, err := records.Load(e.host, e.was[""].target.Policy.KeptName())
		if err != nil || !r.Unfinished {
			r = diagnostics.Record{} // it has none yet
		}
		if done(r) {
			return
		}
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
func (e *Edit) takesEffect(c terminal.Console, done string) string {
	switch {
	case e.setting != nil:
		return done + e.setting.then
	case !e.runs:
		return done + e.nextStart()
	case !e.typed:
		return done + show.Name(e.word) + " runs now, and has it from its next start on. " + e.nextStart()
	}
	return e.restart(c, done)
}

// restart has the sessions that run start the server again, and says what has become of that.
func (e *Edit) restart(c terminal.Console, done string) string {
	who, files := show.Name(e.word), e.was[""].target.Written()
	for _, now := range e.now { // of each tool, the same files
		files = now.target.Written()
	}
	wish, err := records.WishRestart(e.host, e.was[""].target.Policy.KeptName(), e.runsAs, files)
	if err != nil {
		return fmt.Sprintf("%s%s runs now, and cannot be told: %s. %s", done, who, show.Line(err.Error()), e.nextStart())
	}
	c.PrintText(done + "Starting " + who + " again …\n")
	of, runs := diagnostics.Restart{}, true
	e.poll(outcomePatience, func(r diagnostics.Record) bool {
		if r.Restart != nil && r.Restart.Wish == wish {
			of = *r.Restart
		}
		runs = e.running()
		return !runs || of.Wish != "" && (of.Failed || of.Why == "")
	})
	keeps := ""
	if e.remove {
		keeps = " Until then it keeps what it had."
	}
	switch {
	case of.Failed:
		return fmt.Sprintf("%s could not be started again beside the running one: %s. %s%s", who, show.Line(of.Why), e.nextStart(), keeps)
	case of.Wish != "" && of.Why == "":
		return who + " was started again under its new policy."
	case !runs:
		return who + " has ended. " + e.nextStart()
	case of.Why != "":
		return fmt.Sprintf("%s is not started again yet: %s.%s To see when it is: mcp-jail status", who, show.Line(of.Why), keeps)
	}
	return fmt.Sprintf("%s is not started again yet.%s To see when it is: mcp-jail status", who, keeps)
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
	c.PrintText(e.restart(c, "") + "\n")
	return nil
}
