// Package adopt gives a server another policy where its policy lives: in a table of the configuration and
// in the entries of clients that start it. Commands make a [Change], show it, ask, and write it.
package adopt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Change is what becomes of the files that have the policy of a server.
type Change struct {
	Title   string // of the server
	Place   *table.Place
	Edit    *table.Edit
	Entries []Entry
	Command []string // of the server, which may have secrets
	Notes   []string
}

// Entry is what becomes of an entry of a client.
type Entry struct {
	Change *wrapping.Change
	Place  string // of the entry
	Effect string // of the change, in words
}

// Show shows the notes and the differences.
func (a *Change) Show(c terminal.Console, host hostfs.Host) {
	file := cli.ShortPath(a.Place.Path, host.Home)
	c.PrintText(c.Paint(terminal.Bold, a.Title) + "  table of the configuration (" + show.Line(file) + ")\n")
	for _, note := range a.Notes {
		c.PrintText("  " + c.Paint(terminal.Yellow, "note:") + " " + show.Line(note) + "\n")
	}
	if diff := edit.Diff(file, a.Place.Text(), a.Edit.Text, 2); diff != "" {
		c.Printf("\n%s\n", entries.PaintDiff(c, shown.Hide(diff, a.Command)))
	}
	for _, e := range a.Entries {
		c.PrintText(c.Paint(terminal.Bold, a.Title) + "  " + show.Line(e.Place) + ": " + e.Effect + "\n\n")
		c.Printf("%s\n", entries.DiffText(c, e.Change))
	}
}

// Write writes the table, and then the entries.
func (a *Change) Write(c terminal.Console, host hostfs.Host) error {
	program, err := entries.FindProgram(host)
	if err != nil {
		return err
	}
	if !bytes.Equal(a.Edit.Text, a.Place.Text()) {
		if err := a.writeTable(c, host); err != nil {
			return err
		}
	}
	if len(a.Entries) == 0 {
		return nil
	}
	if err := program.Keep(); err != nil {
		return err
	}
	var changes []*wrapping.Change
	for _, e := range a.Entries {
		changes = append(changes, e.Change)
	}
	written, err := entries.Write(c, host, changes)
	if err != nil {
		return fmt.Errorf("the table is written, and an entry is not: %w", err)
	}
	entries.PrintReload(c, written)
	return nil
}

func (a *Change) writeTable(c terminal.Console, host hostfs.Host) error {
	backup, err := a.Edit.Write(host.StateDir, time.Now())
	if err != nil && backup == "" {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	if err != nil {
		return err
	}
	before := ""
	if backup != "" {
		before = "  (before: " + show.Line(cli.ShortPath(backup, host.Home)) + ")"
	}
	c.PrintText(c.Paint(terminal.Green, "changed:") + " " + show.Line(cli.ShortPath(a.Place.Path, host.Home)) + before + "\n")
	return nil
}

// keptFlags are those of mcp-jail run that mean something for a server of the configuration.
var keptFlags = []string{"--workspace", "--waive", "--log-level", "--log-file"}

// IsKept reports whether a flag stays in an entry that starts a server of the configuration.
func IsKept(name string) bool { return slices.Contains(keptFlags, name) }

// ErrNotJailed is the error of an entry that does not start mcp-jail.
var ErrNotJailed = errors.New("the entry of the client does not start mcp-jail")

// StartsTable returns the change that has an entry of a client start a server of the configuration, and the
// flags that the entry loses. line is the command line of the entry. place names it in an error.
func StartsTable(e wrapping.Entry, file *wrapping.File, argv []string, place, server string) (ch *wrapping.Change, lost []string, err error) {
	line, ok := clients.ParseWrapped(argv)
	switch {
	case !ok:
		return nil, nil, ErrNotJailed
	case file.IsProject():
		return nil, nil, fmt.Errorf("the entry is in a file of the project (%s), and who else uses it does not have your configuration", show.Line(place))
	case slices.ContainsFunc(line.Argv, file.References):
		return nil, nil, fmt.Errorf("the command line of the entry has a variable that only the client replaces (%s)", show.Line(place))
	}
	words := append(slices.Clone(line.Launcher), line.Program, "run")
	for _, f := range granting.Split(line.Flags) {
		if IsKept(f.Name) {
			words = append(words, granting.Words([]granting.Flag{f})...)
		} else if f.Name != "--name" {
			lost = append(lost, f.String())
		}
	}
	ch = e.Rewrite(append(words, server))
	return ch, lost, left(ch, place)
}

// left returns an error if nothing changes.
func left(ch *wrapping.Change, place string) error {
	if len(ch.Changed()) > 0 {
		return nil
	}
	why := "is gone"
	for _, s := range ch.Servers {
		if s.Left != string(wrapping.OtherEntry) {
			why = s.Left
		}
	}
	return fmt.Errorf("%s: the entry %s", show.Line(place), why)
}

// WithFlags returns the change that gives entries of a file other flags of mcp-jail run, by their keys.
func WithFlags(file *wrapping.File, flags map[string][]string, place string) (*wrapping.Change, error) {
	ch := wrapping.Reflag(file, flags)
	if err := left(ch, place); err != nil {
		return nil, err
	}
	if n := len(ch.Changed()); n < len(flags) {
		return nil, fmt.Errorf("%s: only %d of %d entries can be changed", show.Line(place), n, len(flags))
	}
	return ch, nil
}
