package learncmd

import (
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/asclient"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/observed"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const learnFlag = "--learn"

// watchEntry has the client's own sessions watched (--wrap), or no longer (--unwrap): it puts --learn into the
// entry, or takes it out.
func (k *learnCmd) watchEntry(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return &exit.HostError{Err: err}
	}
	t, err := k.choose(c)
	if err != nil {
		return err
	}
	line, ok := clients.ParseWrapped(t.Line)
	switch {
	case t.Entry == nil || !ok:
		return exit.UsageErrorf("no client of yours starts %s: --wrap and --unwrap change the entry of a client", show.Name(k.Server))
	case t.Project:
		return exit.UsageErrorf("%s is in a file of the project, which others use, too: put %s none into a copy of the entry in your own file", show.Line(t.Place), learnFlag)
	}
	flags := withoutLearn(line.Flags)
	if k.wraps {
		flags = append(k.learnWords(), flags...)
	}
	words := slices.Concat(line.Launcher, []string{line.Program, "run"}, flags)
	if line.Argv != nil {
		words = append(append(words, "--"), line.Argv...)
	}
	if slices.Equal(words, t.Entry.Argv()) || !k.wraps && slices.Equal(flags, line.Flags) {
		c.Printf("nothing to do: %s\n", map[bool]string{true: "its sessions are watched", false: "its sessions are not watched"}[k.wraps])
		return nil
	}
	return k.writeEntry(c, host, t, t.Entry.Rewrite(words))
}

// learnWords returns the flags that have a session of a client watched.
func (k *learnCmd) learnWords() (words []string) {
	if len(k.net) == 0 {
		return []string{learnFlag, cmdline.LearnFiles}
	}
	for _, host := range k.net {
		words = append(words, learnFlag, host)
	}
	return words
}

// unwatched returns the arguments of mcp-jail run without what has the session watched.
func unwatched(argv []string) []string {
	end := slices.Index(argv, "--")
	if end < 0 {
		end = len(argv)
	}
	return slices.Concat(argv[:1], withoutLearn(argv[1:end]), argv[end:])
}

func withoutLearn(flags []string) []string {
	kept := slices.DeleteFunc(granting.Split(flags), func(f granting.Flag) bool { return f.Name == learnFlag })
	return granting.Words(kept)
}

func (k *learnCmd) writeEntry(c terminal.Console, host hostfs.Host, t *asclient.Target, ch *wrapping.Change) error {
	c.PrintText(c.Paint(terminal.Bold, show.Name(k.Server)) + "  " + show.Line(t.Place) + "\n")
	for _, note := range t.Notes {
		c.PrintText("  " + show.Line(note) + "\n")
	}
	if len(ch.Changed()) == 0 {
		return byHand("%s: the entry cannot be changed", show.Line(t.Place))
	}
	question := "Have the sessions of your client watched no longer?"
	if k.wraps {
		question = "Have the sessions of your client watched?"
		if len(k.net) == 0 {
			c.PrintText("  the server reads all but sensitive paths, and reaches no host: tools that need one fail. --net HOST opens one\n")
		}
	}
	c.Printf("\n%s\n", entries.DiffText(c, ch))
	if !k.yes {
		if err := cli.Confirm(context.Background(), c, question); err != nil {
			return err
		}
	}
	program, err := entries.FindProgram(host)
	if err == nil {
		err = program.Keep()
	}
	if err != nil {
		return err
	}
	written, err := entries.Write(c, host, []*wrapping.Change{ch})
	if err != nil {
		return err
	}
	entries.PrintReload(c, written)
	if k.wraps {
		name := show.Typed("mcp-jail learn", k.Server)
		c.PrintText("\nWork with it. Then:  " + name + "  makes the policy of what was observed, and  " + name + " --unwrap  ends the watching\n")
	}
	return nil
}

// joinSessions takes what was observed in the sessions of the user's client.
func (l *lesson) joinSessions() {
	all, err := observed.Sessions(l.host, l.t.Stored)
	if err != nil {
		l.c.Notef("%s what was observed in sessions cannot be read: %s", l.c.Paint(terminal.Yellow, "warning:"), err)
	}
	for _, s := range all {
		if s.Learns && !s.Lesson {
			l.sessions++
			l.seen = append(l.seen, s.Observations...)
			l.left += s.Left
		}
	}
	if l.sessions > 0 {
		l.c.Notef("with what was observed in %s of your client", cli.Plural(l.sessions, "session"))
	}
}
