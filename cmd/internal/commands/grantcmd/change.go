package grantcmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// plan is what becomes of the flags of a place.
type plan struct {
	place
	was    *policy.Policy  // of a table
	scope  *granting.Scope // of the flags that it has now
	before []granting.Flag // as the file has them
	after  []granting.Flag
	why    map[string]string // of a flag that a failure lacked
	lines  []string          // what changes and what does not, in words
	left   []string          // what is not granted, in words
	ask    func() error      // in place of the usual question; nil for that
}

func (p *plan) say(label, format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf("  %-8s %s", label, fmt.Sprintf(format, args...)))
}

// change shows what becomes of a place, asks, and writes it.
func (g *grantCmd) change(c terminal.Console, host hostfs.Host, at place, wanted []granting.Flag) error {
	switch {
	case at.table != nil:
		return g.changeTable(c, host, at, wanted)
	case g.tool != "":
		return exit.UsageErrorf("%s has one policy for all its tools, in the flags of its entry (%s): --tool is for a server of the configuration with stateful = false", show.Name(g.server), at.Place())
	}
	p, now, err := g.read(at)
	if err != nil {
		return err
	}
	switch {
	case g.remove:
		err = g.takeBack(p, wanted)
	case g.last:
		if wanted, err = g.lastOf(c, host, p); err == nil {
			g.add(p, wanted)
		}
	default:
		if wanted, err = g.spelled(p, wanted); err == nil {
			g.add(p, wanted)
		}
	}
	if err != nil {
		return err
	}
	return g.write(c, host, p, now)
}

// read loads the policy that a place has now.
func (g *grantCmd) read(at place) (p *plan, now *checked, err error) {
	p = &plan{place: at, why: map[string]string{}, before: granting.Split(at.raw), after: granting.Split(at.raw)}
	if now, err = p.check(at.Line().Flags); err != nil {
		return nil, nil, err
	}
	p.scope = granting.NewScope(now.target.Policy, now.host, granting.Split(at.Line().Flags))
	return p, now, nil
}

// add adds the flags that the place does not grant yet.
func (g *grantCmd) add(p *plan, wanted []granting.Flag) {
	var added []granting.Flag
	for _, f := range wanted {
		by := p.scope.Grants(f)
		switch old, replaces := granting.Replaced(p.before, f); {
		case by == f.String():
			p.say("granted", "%s is granted already", f)
			continue
		case by != "":
			p.say("granted", "%s is granted already, by %s", f, show.Line(by))
			continue
		case replaces:
			p.say("grant", "%s, in place of %s%s", f, old, p.why[f.String()])
		default:
			p.say("grant", "%s%s", f, p.why[f.String()])
		}
		if f.Name == "--execute" && p.scope.Writes(f.Value) {
			write := granting.NewFlag("--write", f.Value)
			p.say("keep", "%s, which a rule for execution alone would take away there", write)
			added = append(added, write)
		}
		added = append(added, f)
	}
	if keep, ok := p.keepsWorkspace(added); ok {
		added = append([]granting.Flag{keep}, added...)
	}
	for _, f := range added {
		p.after = granting.Add(p.after, f)
	}
}

// keepsWorkspace returns the flag without which the flags that are added would take the default
// policy, and so the workspace, away.
func (p *plan) keepsWorkspace(added []granting.Flag) (keep granting.Flag, ok bool) {
	keep = granting.NewFlag("--write", ".")
	isAccess := func(f granting.Flag) bool {
		return f.Name == "--read" || f.Name == "--write" || f.Name == "--execute" || f.Name == "--net"
	}
	first := slices.IndexFunc(added, isAccess)
	switch {
	case first < 0, !granting.IsDefault(p.before), slices.ContainsFunc(added, func(f granting.Flag) bool { return f.Name == keep.Name && f.Value == keep.Value }):
		return keep, false
	case p.mayHaveWorkspace():
		p.say("keep", "%s, the workspace, which %s alone would take away", keep, added[first].Name)
		return keep, true
	}
	p.say("note", "with %s the server gets no workspace where the client starts it: add --write for a directory that it is to change", added[first].Name)
	return keep, false
}

// mayHaveWorkspace reports whether the default policy may grant a workspace where the client starts
// the server. A rule for "." grants as little in a home directory as that policy does.
func (p *plan) mayHaveWorkspace() bool {
	switch {
	case len(p.scope.Find(granting.NewFlag("--deny", "."))) > 0:
		return false
	case p.Entry.Cwd != "", slices.ContainsFunc(p.before, func(f granting.Flag) bool { return f.Name == "--workspace" }):
		return p.dir == "" || p.scope.HasWorkspace()
	}
	return slices.ContainsFunc(append([]clients.Client{p.File.Client}, p.File.Also...), func(c clients.Client) bool { return c.Dir != clients.DirNone })
}

// write shows the difference, asks and writes the file.
func (g *grantCmd) write(c terminal.Console, host hostfs.Host, p *plan, now *checked) error {
	c.PrintText(c.Paint(terminal.Bold, show.Name(g.server)) + "  " + p.title() + "\n")
	for _, l := range p.lines {
		c.PrintText(l + "\n")
	}
	words := granting.Words(p.after)
	if slices.Equal(words, p.raw) {
		return g.nothing(c, p)
	}
	warnings, err := p.refused(now, words)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "warning:"), show.Line(w)))
	}
	if p.File.IsProject() {
		c.PrintText("  " + c.Paint(terminal.Yellow, "note:") + " this is a file of the project: others who use it grant the same to their server, each from the own home directory where it has ~/\n")
	}
	ch := wrapping.Reflag(p.File, map[string][]string{p.Entry.Key(): words})
	if len(ch.Changed()) == 0 {
		return fmt.Errorf("nothing was changed: %s", reason(ch, p))
	}
	c.Printf("\n%s\n", entries.DiffText(c, ch))
	ask := p.ask
	if ask == nil {
		ask = func() error { return g.confirm(c, p) }
	}
	switch {
	case g.dryRun && p.ask != nil:
		return ask()
	case g.dryRun:
		c.Printf("nothing was changed (--dry-run)\n")
		return g.status(c, p)
	}
	if err := ask(); err != nil {
		return err
	}
	written, err := entries.Write(c, host, []*wrapping.Change{ch})
	if err != nil {
		return err
	}
	entries.PrintReload(c, written)
	return g.status(c, p)
}

func reason(ch *wrapping.Change, p *plan) string {
	for _, s := range ch.Servers {
		if s.Key() == p.Entry.Key() {
			return s.Left
		}
	}
	return "the entry is gone"
}

func (g *grantCmd) confirm(c terminal.Console, p *plan) error {
	if g.yes {
		return nil
	}
	verb := "Grant this to "
	if g.remove {
		verb = "Take this away from "
	}
	return cli.Confirm(context.Background(), c, verb+show.Name(g.server)+" in "+cli.ShortPath(p.path(), g.home)+"?")
}

// nothing ends a command that changes nothing.
func (g *grantCmd) nothing(c terminal.Console, p *plan) error {
	if len(p.left) == 0 && !g.remove {
		text := "nothing to do: the next session has it"
		if p.File.Client.Reload != "" {
			text += ". " + p.File.Client.Title + ": " + p.File.Client.Reload
		}
		c.PrintText(text + "\n")
	}
	return g.status(c, p)
}

// status says what was left out, and returns the exit status for that.
func (g *grantCmd) status(c terminal.Console, p *plan) error {
	if len(p.left) == 0 {
		return nil
	}
	for _, text := range p.left {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "left out:"), text)
	}
	return exit.ReportedStatus(exit.Failure)
}
