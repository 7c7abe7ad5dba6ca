package wrapcmd

import (
	"errors"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// notePrograms notes the programs of servers that have not started yet, and asks about those that a start refused:
// see session.ProgramError. A yes is typed.
func (w *wrapCmd) notePrograms(c terminal.Console, x *index.Index) (err error) {
	for _, s := range x.Servers {
		if s.Key == "" || len(s.Entries) > 0 && !slices.ContainsFunc(s.Entries, func(e *index.Entry) bool { return w.Has(e.Server) }) {
			continue
		}
		noted, failed := records.ProgramsOf(x.Host, s.Key)
		now := noted
		now.Refused = nil
		switch {
		case failed != nil:
			return errors.Join(err, failed)
		case noted.Refused != nil:
			yes, asked, failed := w.askProgram(c, x, s, noted)
			if failed != nil {
				return failed
			}
			if !asked {
				continue
			}
			if yes {
				now = noted.With(noted.Refused, func(string) bool { return true })
			}
		case noted.Taken == nil:
			e, failed := s.JailedEntry("")
			if failed != nil {
				continue
			}
			now = noted.With(e.InPath(), nil)
		}
		if len(now.Taken) > 0 {
			err = errors.Join(err, records.NotePrograms(x.Host, s.Key, now))
		}
	}
	return err
}

// askProgram asks about the programs that a start of a server refused.
func (w *wrapCmd) askProgram(c terminal.Console, x *index.Index, s *index.Server, noted records.Programs) (yes, asked bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(noted.Refused)) {
		if file, before := noted.Refused[name], noted.Taken[name]; before != nil && !slices.Contains(before, file) {
			c.PrintText(s.Title() + " was not started, because PATH had another program for " + show.Name(name) + ", where a server may write:\n" +
				"  before:  " + show.Line(cli.ShortPath(before[0], x.Host.Home)) + "\n  now:     " + show.Line(cli.ShortPath(file, x.Host.Home)) + "\n")
		}
	}
	if w.yes || !c.Asks() {
		c.PrintText("To answer whether it may start, type `mcp-jail wrap` in a terminal.\n")
		return false, false, nil
	}
	yes, err = cli.AskYes(c, "Start it with the new program from now on?", "it is not started with the new program")
	return yes, err == nil, err
}
