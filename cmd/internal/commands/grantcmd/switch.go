package grantcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// switched returns a file of the server in which tools are on, or off with remove.
func (e *Edit) switched(f *config.ServerFile, tools []string) (*config.ServerFile, error) {
	f, err := f.Checked()
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		f.Server.Switch(tool, !e.remove)
	}
	return f.Checked()
}

// switchTools switches tools, and asks before it writes the file. Sessions take that up without a new process.
func (e *Edit) switchTools(c terminal.Console, tools []string, how How) (err error) {
	if e.File, err = e.switched(e.before, tools); err != nil {
		return refusal(err)
	}
	after, err := e.check(e.File, "")
	if err != nil {
		return err
	}
	for _, ch := range e.rest(e.was[""], after) {
		c.PrintText(show.Name(e.word) + ": " + show.Line(ch.Text) + ".\n")
	}
	means := "Clients see what is on, and can call it."
	if e.remove {
		means = "Clients do not see what is off, and calls of it are refused."
	}
	if isNew, err := e.replace(c, how, []string{means}, func(f *config.ServerFile) (*config.ServerFile, error) { return e.switched(f, tools) }); !isNew || err != nil {
		return err
	}
	var words []string
	for _, tool := range tools {
		words = append(words, change.AsTyped([]string{"--tool", tool}))
	}
	session.LogGrant(c, e.host, e.was[""].target.Policy, how.By, words)
	c.PrintText(c.Paint(terminal.Green, "Done.") + " A session that runs has it within a second.\n")
	return nil
}

// replace asks, and puts e.File in the place of the file of the server. changed makes it anew, from the file as it is then.
// isNew is false where nothing was to be written.
func (e *Edit) replace(c terminal.Console, how How, means []string, changed func(*config.ServerFile) (*config.ServerFile, error)) (isNew bool, err error) {
	switch {
	case string(e.File.Encode()) == string(e.before.Encode()):
		c.PrintText("Nothing to change.\n")
		return false, nil
	case e.isTable():
		return false, e.writeOut(c, how, means)
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(append(means, "This is saved in "+e.Short(e.File.Path)+"."), " "), c.TextColumns()))
	switch {
	case how.DryRun:
		c.Printf("Nothing was changed (--dry-run).\n")
		return false, nil
	case !how.Yes:
		if err := cli.Confirm(context.Background(), c, "Do this?"); err != nil {
			return false, err
		}
	}
	return true, config.ChangeServers(e.host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		f, err := changed(e.in(files)) // others may have changed it meanwhile
		return append(slices.DeleteFunc(files, func(o *config.ServerFile) bool { return err == nil && o.Path == f.Path }), f), err
	})
}
