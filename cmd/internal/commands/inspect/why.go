package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
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
	cmd := line.Command("why [options] [SERVER]", "Explain why a server failed and what to do about it", 1, false, func(args []string) error {
		w.server = cli.FirstOf(args)
		return w.Run(line.Console)
	})
	cmd.Long = `SERVER is the name of a server, the beginning of its name, or its package.
Without it, why tells of each server whose last session had a failure.

For each failure why says what happened, what the server may do instead, and what
the server said. The last line is the command that allows what was blocked. If the
last session had no failure, why also shows the last failure before it.

A project's own server has its own record. In the directory of the project, SERVER
means that one, and elsewhere yours. Below, why names the others of that name.`
	cmd.Example = `    mcp-jail why
    mcp-jail why github
    mcp-jail why @modelcontextprotocol/server-filesystem`
	cli.AddFlags(cmd, cli.FormatFlag(&w.format))
	cmd.Flags().BoolVar(&w.verbose, "verbose", false, "Show all failures, and the warnings of the session")
	cmd.ValidArgsFunction = index.Propose(line, func(s *index.Server) bool { return s.Kept != nil })
	return cmd
}

// Run tells of one server, or of all whose last session had a failure.
func (w *whyCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	x, err := index.Read()
	if err != nil {
		return err
	}
	sessions := listRecords(host)
	if w.format != "json" {
		w.noteConfiguration(c, x)
	}
	s, err := w.find(c, host, x, sessions)
	if err != nil {
		return err
	}
	record, err := records.Load(host, s.Server)
	if err != nil {
		return fmt.Errorf("%s: %w", show.Name(s.name()), err)
	}
	switch {
	case w.format == "json":
		b, err := record.Encode()
		if err != nil {
			return err
		}
		c.Printf("%s", b)
	case w.server != "":
		w.tell(c, x, s, record)
		if more := namesakes(sessions, record, s.Server); len(more) > 0 {
			c.PrintText("\nAlso on record:\n" + strings.Join(more, ""))
		}
	default:
		w.tellAll(c, x, sessions)
	}
	return nil
}

// tellAll tells of each server whose last session had a failure, or of the last session if there is none.
func (w *whyCmd) tellAll(c terminal.Console, x *index.Index, sessions []serverRecords) {
	told := 0
	for _, s := range sessions {
		record, err := records.Load(x.Host, s.Server)
		if err != nil || len(record.Diagnoses) == 0 {
			continue
		}
		if told++; told > 1 {
			c.Printf("\n")
		}
		w.tell(c, x, s, record)
	}
	if record, err := records.Load(x.Host, sessions[0].Server); told == 0 && err == nil {
		w.tell(c, x, sessions[0], record)
	}
}

// tell prints what a record says, and then the command that allows what was blocked.
func (w *whyCmd) tell(c terminal.Console, x *index.Index, s serverRecords, record diagnostics.Record) {
	of, _ := x.Pick(s.Server, nil)
	c.PrintText(record.Text(func(r diagnostics.Record) string { return w.title(x, s, of, r) }, w.verbose))
	if line := grantLine(x, record, s, of); line != "" {
		c.PrintText("\nTo allow it, run this and then restart " + show.Name(record.Server) + ":\n  " + line + "\n")
	}
}

// title says which server a record is about, where it is and when that was: "notes in Cursor, today 14:02".
func (w *whyCmd) title(x *index.Index, s serverRecords, of *index.Server, r diagnostics.Record) string {
	text := show.Name(r.Server)
	switch {
	case r.Project != "":
		text += " of the project " + show.Line(cli.ShortPath(filepath.Dir(r.Project), x.Host.Home))
	case of != nil && len(of.Entries) > 0:
		text += " in " + of.Entries[0].File.Client.Title
	}
	if w.verbose {
		return text + ", session of " + r.Time.Local().Format("2006-01-02 15:04:05 -07:00")
	}
	return text + ", " + cli.DayText(time.Now(), r.Time)
}

// find returns the server that is meant, with its name in the index.
func (w *whyCmd) find(c terminal.Console, host hostfs.Host, x *index.Index, sessions []serverRecords) (found serverRecords, err error) {
	if w.server == "" && len(sessions) == 0 {
		return found, errors.New("there is no record: no server was run yet")
	}
	if w.server == "" {
		return sessions[0], nil
	}
	recorded := func(s *index.Server) bool {
		return slices.ContainsFunc(sessions, func(r serverRecords) bool { return r.Server == s.Key })
	}
	s, err := x.Pick(w.server, recorded)
	if err != nil {
		return found, err
	}
	if w.format != "json" {
		for _, said := range s.Unclear() {
			c.Notef("%s %s", c.Paint(terminal.Yellow, "warning:"), said)
		}
	}
	if at := slices.IndexFunc(sessions, func(r serverRecords) bool { return r.Server == s.Key }); at >= 0 {
		return sessions[at], nil
	}
	// The list leaves out records that another user could have written: say that.
	var owner *hostfs.OwnerError
	if _, refused := records.Load(host, s.Key); s.Key != "" && errors.As(refused, &owner) {
		return found, refused
	}
	return found, fmt.Errorf("there is no record of a session of %s", s.Title())
}

// noteConfiguration says first what is wrong with the configuration: servers that it declares do not
// start then, and have no record of that.
func (w *whyCmd) noteConfiguration(c terminal.Console, x *index.Index) {
	all := x.ConfigurationProblems()
	// Those of the server's own configuration come first.
	slices.SortStableFunc(all, func(a, b index.ConfigurationProblem) int {
		return cmp.Compare(cli.FalseFirst(a.Entries == nil), cli.FalseFirst(b.Entries == nil))
	})
	effect := ""
	for _, p := range all {
		switch word := c.Paint(terminal.Yellow, "warning:"); {
		case w.server != "" && p.Entries != nil && !slices.Contains(p.Entries, w.server):
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

// namesakes are the other servers on record that people call the same.
func namesakes(all []serverRecords, shown diagnostics.Record, server string) (lines []string) {
	for _, s := range all {
		switch {
		case s.Server == server || s.name() != shown.Server:
		case s.Server == s.name():
			lines = append(lines, "  your own server "+show.Name(s.Server)+", in another directory:  "+show.Typed("mcp-jail why", s.Server)+"\n")
		default:
			lines = append(lines, "  that of "+show.Line(cmp.Or(s.Project, s.dir, s.Server))+":  "+show.Typed("mcp-jail why", s.Server)+"\n")
		}
	}
	return lines
}

// serverRecords describes the records of one server.
type serverRecords struct {
	Server  string    // its key
	Called  string    // by people
	Project string    // the project's file, if the server is the project's own
	Last    time.Time // when the last session ended, or when a session without a record started
	dir     string    // where it started
}

func (s serverRecords) name() string { return cmp.Or(s.Called, index.PlainName(s.Server, s.Project)) }

func listRecords(host hostfs.Host) (all []serverRecords) {
	names, _ := index.StoredNames(host)
	for _, name := range names {
		d, err := records.Open(host, name)
		if err != nil {
			continue
		}
		s := serverRecords{Server: name, Project: d.About().Project, Called: d.About().Name, Last: d.Written()}
		if of := d.About().Configuration; of != nil && s.Called != "" {
			s.dir = of.Workspace
		}
		if m, ok := d.Marker(); ok && m.LastActivity().After(s.Last) {
			s.Last = m.LastActivity()
		}
		d.Close()
		if !s.Last.IsZero() {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b serverRecords) int { return b.Last.Compare(a.Last) })
	return all
}

// grantLine returns the command that grants what a record lacks, or "" if no flag does, or if the policy is
// in a file that the user changes by hand.
func grantLine(x *index.Index, r diagnostics.Record, s serverRecords, named *index.Server) string {
	of := records.ReadAbout(x.Host, s.Server).Configuration
	if s.Project != "" || of == nil || len(of.Files) > 0 || !r.Lacks() {
		return ""
	}
	name := s.name()
	if named != nil {
		name = named.Name
	}
	line, ok := show.TypedOK("mcp-jail grant", name)
	if !ok {
		return ""
	}
	return line + " --last"
}
