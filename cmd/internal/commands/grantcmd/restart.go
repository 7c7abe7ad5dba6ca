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
func (b *base) findRunning() {
	files := b.was.policies[""].target.Written()
	b.made = diagnostics.Made{Runs: files, Files: files}
	if b.runs = b.policy().Stateful && b.running(); !b.runs {
		return
	}
	// The session looks once a second. What it has not seen yet it does not start: see Followed.unseen.
	b.poll(3*time.Second, func(r diagnostics.Record) bool {
		if b.kept = r.Kept; b.kept == nil {
			return true
		}
		b.made.Runs = ""
		if b.kept.Files == "" || b.kept.Files == files {
			b.made.Runs = b.kept.Runs
		}
		return b.made.Runs != ""
	})
}

func (b *base) running() bool {
	d, err := records.Open(b.host, b.policy().KeptName())
	if err != nil {
		return false
	}
	defer d.Close()
	return d.Running()
}

// poll looks at the record of the session that runs until done, or for a time.
func (b *base) poll(limit time.Duration, done func(diagnostics.Record) bool) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r, err := records.Load(b.host, b.policy().KeptName())
		if err != nil || !r.Unfinished {
			r = diagnostics.Record{} // it has none yet
		}
		if done(r) {
			return
		}
	}
}

// isTyped reports whether the user types the answer at a terminal.
func (how How) isTyped(c terminal.Console) bool { return !how.Yes && !how.DryRun && c.Asks() }

// sayRunning says above the question what the change does to the server that runs. Started again, it gets what was written
// without a typed answer, too.
func (b *base) sayRunning(c terminal.Console) string {
	if b.kept != nil && len(b.kept.Rows) > 0 {
		c.PrintText("\n" + show.Name(b.word) + " runs under an earlier policy. It also gets what its files have since then:\n\n" + table80(b.kept.Rows))
	}
	return show.Name(b.word) + " runs now. " + startedAgain
}

// takesEffect tells the sessions of the server, if the user has typed the answer, and says when the policy holds.
func (e *Edit) takesEffect(c terminal.Console, how How, done string) string {
	switch {
	case e.setting != nil:
		return done + e.setting.then
	case !e.runs:
		return done + e.nextStart()
	case !how.isTyped(c):
		return done + show.Name(e.word) + " runs now, and has it from its next start on. " + e.nextStart()
	}
	for _, now := range e.now.policies { // of each tool, the same files
		e.made.Files = now.target.Written()
	}
	keeps := ""
	if e.remove {
		keeps = " Until then it keeps what it had."
	}
	return e.restart(c, done, keeps)
}

// restart has the sessions that run start the server again, and says what has become of that. keeps says what holds until then.
func (b *base) restart(c terminal.Console, done, keeps string) string {
	who := show.Name(b.word)
	wish, err := records.WishRestart(b.host, b.policy().KeptName(), b.made)
	if err != nil {
		return fmt.Sprintf("%s%s runs now, and cannot be told: %s. %s", done, who, show.Line(err.Error()), b.nextStart())
	}
	c.PrintText(done + "Starting " + who + " again …\n")
	of, runs := diagnostics.Restart{}, true
	b.poll(outcomePatience, func(r diagnostics.Record) bool {
		if r.Restart != nil && r.Restart.Wish == wish {
			of = *r.Restart
		}
		runs = b.running()
		return !runs || of.Wish != "" && (of.Failed || of.Why == "")
	})
	switch {
	case of.Failed:
		return fmt.Sprintf("%s could not be started again beside the running one: %s. %s%s", who, show.Line(of.Why), b.nextStart(), keeps)
	case of.Wish != "" && of.Why == "":
		return who + " was started again under its new policy."
	case !runs:
		return who + " has ended. " + b.nextStart()
	case of.Why != "":
		return fmt.Sprintf("%s is not started again yet: %s.%s To see when it is: mcp-jail status", who, show.Line(of.Why), keeps)
	}
	return fmt.Sprintf("%s is not started again yet.%s To see when it is: mcp-jail status", who, keeps)
}

// offer shows what a server has that runs, and what its files say, and offers to start it again.
func (b *base) offer(c terminal.Console, yes bool) error {
	who := show.Name(b.word)
	if !b.runs {
		return terminal.UsageErrorf("say what to allow, such as --read PATH, --net HOST or --env NAME. --last allows what the last failure needed")
	}
	text := who + " runs under the policy that its files have."
	if b.kept != nil {
		text = b.kept.Text(who) + "\n\n" + table80(b.kept.Rows)
	}
	c.PrintText(text + "\n")
	if yes {
		return terminal.UsageErrorf("nothing was changed: --yes does not start %s again. Run it on a terminal, without --yes", who)
	}
	c.PrintText(startedAgain + "\n\n")
	if err := cli.Confirm(context.Background(), c, "Start it again?"); err != nil {
		return err
	}
	c.PrintText(b.restart(c, "", "") + "\n")
	return nil
}
