package grantcmd

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// addTables adds the tables of a server of the configuration, which an entry starts with some flags in
// a directory, where a project's file is looked for. by is that entry; nil for none.
func (a *found) addTables(host hostfs.Host, server, dir string, flags []string, of []clients.Client, by *entries.WrappedServer) error {
	run, err := cmdline.ParseRun(append([]string{"run"}, flags...))
	if err != nil {
		return err
	}
	files, err := session.ExpandHome(run.Config)
	if err != nil {
		return err
	}
	o := config.LoadOptions{Files: files, Workspace: run.Workspace}
	// The user's own server starts in each project, and not where the user is.
	host.Dir = ""
	if o.Workspace == "" {
		o.Workspace = dir
	} else if filepath.IsAbs(o.Workspace) {
		host.Dir = o.Workspace
	}
	places, err := table.Find(o, host, server)
	if err == nil && len(places) == 0 && by != nil {
		return errors.New("no file of the configuration has it")
	}
	for _, t := range places {
		same := func(p place) bool { return p.table != nil && p.table.Path == t.Path }
		if i := slices.IndexFunc(a.jailed, same); i >= 0 {
			a.jailed[i].starters = append(a.jailed[i].starters, of...)
			if by != nil {
				a.jailed[i].by = append(a.jailed[i].by, by)
			}
			continue
		}
		p := place{table: t, kept: server, dir: t.Dir(), starters: of}
		if by != nil {
			p.by = append(p.by, by)
		}
		a.jailed = append(a.jailed, p)
	}
	return err
}

// in returns the tables in some files, and the other files.
func (a *found) in(files []string) (chosen []place, rest []string) {
	for _, name := range files {
		path, err := session.AbsolutePath(name)
		if i := slices.IndexFunc(a.jailed, func(p place) bool { return err == nil && p.path() == path }); i >= 0 {
			chosen = append(chosen, a.jailed[i])
		} else {
			rest = append(rest, name)
		}
	}
	return chosen, rest
}

// changeTable is change for a table of the configuration.
func (g *grantCmd) changeTable(c terminal.Console, host hostfs.Host, at place, wanted []granting.Flag) error {
	p := &plan{place: at, why: map[string]string{}}
	if at.table.Closed != nil {
		return exit.UsageErrorf("nothing was changed: %s", at.table.Closed)
	}
	host.Dir = at.dir
	err := g.scopeOf(host, p)
	if err != nil {
		return err
	}
	if g.last {
		wanted, err = g.lastOf(c, host, p)
	} else {
		wanted, err = g.spelled(p, wanted)
	}
	if err != nil {
		return err
	}
	edit, err := g.editOf(p, wanted)
	if err == nil && edit.Keeps {
		err = g.keepsAnywhere(p)
	}
	switch {
	case err != nil && g.remove:
		return fmt.Errorf("nothing was changed: %w", err)
	case err != nil:
		return exit.UsageErrorf("nothing was changed: %s", err)
	}
	return g.writeTable(c, host, p, edit)
}

// keepsAnywhere says what the rule that keeps the workspace may reach. In a home directory it grants all
// of that, and the default policy grants none: that is more than a failure lacked, so a yes must follow.
func (g *grantCmd) keepsAnywhere(p *plan) error {
	p.say("keep", `path = ".", the workspace, which a table of access alone would take away`)
	if p.table.Project || p.dir != "" || p.was.Workspace != "" {
		return nil
	}
	const reach = "wherever a client starts this server, and a start in your home directory grants all of that"
	if g.last && g.yes {
		return fmt.Errorf(`path = "." keeps the workspace %s: answer by hand, without --yes, or set workspace = "DIR" in the table first`, reach)
	}
	p.say("warning", `path = "." holds %s: workspace = "DIR" in the table says which directory it is`, reach)
	return nil
}

// scopeOf finds the policy of the table, or that of its tool.
func (g *grantCmd) scopeOf(host hostfs.Host, p *plan) (err error) {
	if p.was, err = p.table.Policy(p.table.Text(), g.tool); err != nil {
		return err
	}
	p.kept, p.scope = p.was.KeptName(), granting.NewScope(p.was, host, nil)
	return nil
}

// editOf returns what flags make of the file of a table, and says it in words.
func (g *grantCmd) editOf(p *plan, wanted []granting.Flag) (e *table.Edit, err error) {
	verb := "grant"
	if g.remove {
		verb = "remove"
	} else {
		wanted = slices.DeleteFunc(slices.Clone(wanted), func(f granting.Flag) bool {
			by := p.scope.Grants(f)
			if by != "" {
				p.say("granted", "%s is granted already, by %s", f, show.Line(cli.ShortPath(by, g.home)))
			}
			return by != ""
		})
	}
	if len(wanted) == 0 {
		return &table.Edit{Result: table.Result{Text: p.table.Text()}}, nil
	}
	if e, err = p.table.Edit(table.Change{Tool: g.tool, Flags: granting.Words(wanted), Remove: g.remove}); err != nil {
		return nil, err
	}
	if !bytes.Equal(e.Text, p.table.Text()) {
		for _, f := range wanted {
			p.say(verb, "%s%s", f, p.why[f.String()])
		}
	}
	for _, by := range e.Already {
		p.say("granted", "already, by %s", show.Line(cli.ShortPath(by, g.home)))
	}
	for _, by := range e.Still {
		p.say("note", "it is granted all the same, by %s", show.Line(cli.ShortPath(by, g.home)))
	}
	return e, nil
}

// writeTable shows the difference, asks and writes the file of a table.
func (g *grantCmd) writeTable(c terminal.Console, host hostfs.Host, p *plan, e *table.Edit) error {
	was := p.was
	c.PrintText(c.Paint(terminal.Bold, show.Name(g.server)) + "  " + p.title() + "\n")
	for _, line := range p.lines {
		c.PrintText(line + "\n")
	}
	before := p.table.Text()
	if bytes.Equal(e.Text, before) {
		if len(p.left) == 0 && !g.remove {
			c.PrintText("nothing to do: " + p.takesEffect(was) + "\n")
		}
		return g.status(c, p)
	}
	old, err := p.table.Target(before, g.tool)
	if err != nil {
		return err
	}
	target, err := p.table.Target(e.Text, g.tool)
	if err != nil {
		return err
	}
	now := target.Policy
	warnings, err := try(target, p.dir).since(try(old, p.dir))
	if err != nil {
		return err
	}
	for _, w := range warnings {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "warning:"), show.Line(w)))
	}
	if p.table.Project {
		c.PrintText("  " + c.Paint(terminal.Yellow, "note:") + " this is a file of the project, which you trust as it is: yes means that you trust it with this change, too. Others who use it must trust it anew\n")
	}
	diff := edit.Diff(cli.ShortPath(p.table.Path, g.home), before, e.Text, 2)
	c.Printf("\n%s\n", entries.PaintDiff(c, shown.Hide(diff, append([]string{was.Command}, was.Arguments...))))
	if g.dryRun {
		c.Printf("nothing was changed (--dry-run)\n")
		return g.status(c, p)
	}
	if err := g.confirm(c, p); err != nil {
		return err
	}
	backup, err := e.Write(host.StateDir, time.Now())
	switch {
	case errors.Is(err, ownfile.ErrChanged):
		return err
	case err != nil && backup == "":
		return fmt.Errorf("nothing was changed: %w", err)
	case err != nil:
		return err
	}
	c.PrintText(fmt.Sprintf("%s %s  (before: %s)\n", c.Paint(terminal.Green, "changed:"), show.Line(cli.ShortPath(p.table.Path, host.Home)), show.Line(cli.ShortPath(backup, host.Home))))
	c.PrintText("\nTo use it: " + p.takesEffect(now) + "\n")
	return g.status(c, p)
}

// takesEffect says when the policy of the table holds.
func (p *plan) takesEffect(now *policy.Policy) string {
	if !now.Stateful {
		return "the next call of a tool has it"
	}
	text := "the next session has it"
	for _, client := range p.starters {
		if client.Reload != "" {
			text += ". " + client.Title + ": " + client.Reload
		}
	}
	return text
}

// tablePath returns a path for a table: in a project's file one of the project is relative.
func (p *plan) tablePath(whole, path string) string {
	dir := filepath.Dir(p.table.Path)
	if !p.table.Project || !hostfs.Within(runtime.GOOS, whole, dir) || p.dir != "" && p.dir != dir {
		return path
	}
	rel, err := filepath.Rel(dir, whole)
	if err != nil {
		return path
	}
	return rel
}
