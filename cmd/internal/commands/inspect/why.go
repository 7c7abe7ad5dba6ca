package inspect

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type whyCmd struct {
	format  string
	server  string
	verbose bool
}

func Why(line *cli.CommandLine) *cobra.Command {
	w := &whyCmd{}
	cmd := line.Command("why [options] [SERVER]", 1, false, func(args []string) error {
		w.server = cli.FirstOf(args)
		return w.Run(line.Console)
	})
	cmd.Long = `SERVER is the name of a server, the beginning of its name, or its package.
Without it, why explains each server whose last session had a failure.

For each failure why says what happened, what the server may do instead, and what
the server said. The last line is the command that allows what was blocked. If the
last session had no failure, why also shows the last failure before it.

A project's own server has its own record. In the directory of the project, SERVER
means that one, and elsewhere yours.`
	cmd.Example = `    mcp-jail why
    mcp-jail why github
    mcp-jail why @modelcontextprotocol/server-filesystem`
	cli.AddFlags(cmd, cli.FormatFlag(&w.format))
	cmd.Flags().BoolVar(&w.verbose, "verbose", false, "Show all failures, and the warnings of the session")
	return cmd
}

// Run tells of one server, or of all whose last session had a failure.
func (w *whyCmd) Run(c terminal.Console) error {
	x, err := index.Read()
	if err != nil {
		return err
	}
	if w.format != "json" {
		w.noteConfiguration(c, x)
	}
	servers, err := w.find(c, x)
	if err != nil {
		return err
	}
	record, err := records.Load(x.Host, servers[0].Key)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", show.Name(servers[0].Name), err)
	case w.format == "json":
		grantcmd.Decide(x, servers[0].Name, record)
		b, err := record.Encode()
		if err != nil {
			return err
		}
		c.Printf("%s", b)
		return nil
	}
	told := 0
	for _, s := range servers {
		if r, err := records.Load(x.Host, s.Key); err == nil && (w.server != "" || len(r.Diagnoses) > 0) {
			if told++; told > 1 {
				c.Printf("\n")
			}
			w.tell(c, x, s, r)
		}
	}
	if told == 0 {
		w.tell(c, x, servers[0], record)
	}
	return nil
}

// tell prints what a record says, and then the command that allows what was blocked.
func (w *whyCmd) tell(c terminal.Console, x *index.Index, s *index.Server, record diagnostics.Record) {
	can, allowed := grantcmd.Decide(x, s.Name, record)
	c.PrintText(record.Text(func(r diagnostics.Record) string { return w.title(x, s, r) }, w.verbose))
	switch line, name := grantLine(s, record), show.Name(s.Name); {
	case allowed:
		next := "Restart " + name + " and try again."
		switch {
		case record.Kept != nil:
			next = show.Line(record.Kept.Text(name))
		case record.Unfinished:
			next = "Call the tool again."
		}
		c.PrintText("\nIt has been allowed since. " + next + "\n")
	case can && line != "":
		next := "call the tool again"
		if n := len(record.Diagnoses); n > 0 && record.Diagnoses[n-1].Stage != diagnostics.StageCall {
			next = "restart the server"
		}
		c.PrintText("\nTo allow it, run this, and " + next + ":\n  " + line + "\n")
	}
}

// title says which server a record is about, where it is and when that was: "notes in Cursor, today 14:02".
func (w *whyCmd) title(x *index.Index, s *index.Server, r diagnostics.Record) string {
	text := show.Name(s.Name)
	switch {
	case r.Project != "":
		text += " of the project " + show.Line(cli.ShortPath(filepath.Dir(r.Project), x.Host.Home))
	case len(s.Entries) > 0:
		text += " in " + s.Entries[0].File.Client.Title
	}
	if w.verbose {
		return text + ", session of " + r.Time.Local().Format("2006-01-02 15:04:05 -07:00")
	}
	return text + ", " + cli.DayText(time.Now(), r.Time)
}

// find returns the server that is meant, or all that had a session, the latest first.
func (w *whyCmd) find(c terminal.Console, x *index.Index) ([]*index.Server, error) {
	all := x.Sessions()
	switch {
	case w.server == "" && len(all) == 0:
		return nil, errors.New("there is no record: no server has run yet")
	case w.server == "":
		return all, nil
	}
	s, err := x.Pick(w.server, func(s *index.Server) bool { return slices.Contains(all, s) })
	if err != nil {
		return nil, err
	}
	if w.format != "json" {
		for _, said := range s.Unclear() {
			c.Notef("%s %s", c.Paint(terminal.Yellow, "warning:"), said)
		}
	}
	if slices.Contains(all, s) {
		return []*index.Server{s}, nil
	}
	// The list leaves out records that another user could have written: say that.
	var owner *hostfs.OwnerError
	if _, refused := records.Load(x.Host, s.Key); s.Key != "" && errors.As(refused, &owner) {
		return nil, refused
	}
	return nil, fmt.Errorf("there is no record of a session of %s", s.Title())
}

// noteConfiguration says first what is wrong with the configuration: servers that it declares do not
// start then, and have no record of that.
func (w *whyCmd) noteConfiguration(c terminal.Console, x *index.Index) {
	effect := ""
	for _, p := range x.ConfigurationProblems() {
		switch word := c.Paint(terminal.Yellow, "warning:"); {
		case p.Fix != "":
			c.Notef("%s %s", word, p.Warning())
		case p.Effect == effect: // more of the same
			c.Notef("%s", show.Lines(p.What))
		default:
			effect = p.Effect
			c.Notef("%s the configuration has an error, and %s:\n%s", word, effect, show.Lines(p.What))
		}
	}
}

// grantLine returns the command that grants what a record lacks, or "" if no flag does, or if the policy is
// in a file that the user changes by hand.
func grantLine(s *index.Server, r diagnostics.Record) string {
	of := s.Kept.About.Configuration
	if s.Kept.About.Project != "" || of == nil || len(of.Files) > 0 || !r.Lacks() {
		return ""
	}
	line, ok := show.TypedOK("mcp-jail grant", s.Name)
	if !ok {
		return ""
	}
	return line + " --last"
}
