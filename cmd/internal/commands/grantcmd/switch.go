package grantcmd

import (
	"cmp"
	"context"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// noteStaysOff says which tools a trusted project's file keeps off where the server starts, or where the user is.
func (e *Edit) noteStaysOff(c terminal.Console, file *config.ServerFile, tools []string) {
	defer goTo(cmp.Or(e.dir, e.host.Dir))()
	t, err := e.load(file, "")
	for _, tool := range tools {
		if err != nil || e.remove {
			return
		}
		if by, off := t.Policy.Tools.Off(tool); off {
			note(c, show.InSentence(tool)+" stays off, as "+e.Short(by.Where)+" says")
		}
	}
}

// switchTools switches tools on, or off with remove, and asks before it writes the file. A session takes that up without
// a new process, so nothing is started again.
func (e *Edit) switchTools(c terminal.Console, tools []string, how How) error {
	switched := func(f *config.ServerFile) (*config.ServerFile, error) {
		f, err := f.Checked()
		if err != nil {
			return nil, err
		}
		for _, tool := range tools {
			f.Server.Switch(tool, !e.remove)
		}
		return f.Checked()
	}
	file, err := switched(e.before)
	if err != nil {
		return refusal(err)
	}
	after, err := e.check(file, "")
	if err != nil {
		return err
	}
	for _, ch := range e.rest(e.was[""], after) {
		c.PrintText(show.Name(e.word) + ": " + show.Line(ch.Text) + ".\n")
	}
	for _, w := range session.WarningTexts(after.target.SwitchWarnings()) {
		note(c, w)
	}
	e.noteStaysOff(c, file, tools)
	e.File = file
	if string(file.Encode()) == string(e.before.Encode()) {
		c.PrintText("Nothing to change.\n")
		return nil
	}
	can, question, done := "Clients see it, and can call it.", "Switch it on?", "Switched on."
	if e.remove {
		can, question, done = "Clients do not see it, and calls of it are refused.", "Switch it off?", "Switched off."
	}
	if e.isTable() {
		return e.writeOut(c, how, []string{can})
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", can+" This is saved in "+e.Short(file.Path)+".", c.TextColumns()))
	if how.DryRun {
		c.Printf("Nothing was changed (--dry-run).\n")
		return nil
	}
	if !how.Yes {
		if err := cli.Confirm(context.Background(), c, question); err != nil {
			return err
		}
	}
	err = config.ChangeServers(e.host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		changed, err := switched(e.in(files)) // others may have changed it meanwhile
		if err != nil {
			return nil, err
		}
		return append(slices.DeleteFunc(files, func(f *config.ServerFile) bool { return f.Path == changed.Path }), changed), nil
	})
	if err == nil {
		c.PrintText(c.Paint(terminal.Green, done) + " A session that runs has it within a second.\n")
	}
	return err
}
