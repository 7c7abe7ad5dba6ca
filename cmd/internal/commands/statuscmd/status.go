// Package statuscmd has the command status, the one table of all servers.
//
//   - status.go has the flags, and removes what mcp-jail has stored.
//   - rows.go has what is known of each server, what is stored of it, and the table.
//   - problems.go says what to do about what the table shows.
package statuscmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type statusCmd struct {
	index.Choice
	names  []string
	all    bool
	remove bool
	yes    bool
	format string
}

// Status returns the command.
func Status(line *cli.CommandLine) *cobra.Command {
	s := &statusCmd{}
	cmd := line.Command("status [options] [NAME...]", cli.AnyNumber, false, func(args []string) error {
		s.names = args
		return s.Run(line.Console)
	})
	cmd.Long = `JAIL is yes, weaker (you accepted that this machine cannot enforce all of the policy),
NO, unclear, or "-" for a server that starts no program here. VERSION is the version
that mcp-jail has pinned. Below the table is what you can do about what it shows.

--all adds what mcp-jail has stored, with its size, also of servers that are in no
client. --remove removes it: the servers' own data, which nothing brings back, the
records of their sessions, their pins and their packages. It shows all of that, and
asks. Packages that no server uses go with it, and the remains of interrupted work. The
policies and the clients' files stay. --remove --all also removes the copies
of clients' files, after unwrap.

Exit status 2: the configuration has a mistake.`
	cmd.Example = `    mcp-jail status
    mcp-jail status --all
    mcp-jail status --remove notes`
	s.AddFileFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&s.all, "all", false, "Add what is stored of every server, and its size")
	f.BoolVar(&s.remove, "remove", false, "Remove what is stored of these servers")
	f.BoolVar(&s.yes, "yes", false, "Remove without asking")
	cli.AddFlags(cmd, cli.FormatFlag(&s.format))
	return cmd
}

func (s *statusCmd) conflicts() error {
	const choose = "\n  mcp-jail status --remove NAME\n  mcp-jail status --remove --all"
	switch {
	case s.yes && !s.remove:
		return terminal.UsageErrorf("--yes is for --remove")
	case !s.remove:
		return nil
	case s.format == "json":
		return terminal.UsageErrorf("nothing was removed: --remove prints no JSON")
	case !s.Everything():
		return terminal.UsageErrorf("nothing was removed: --remove takes names, and no --client or --file")
	case len(s.names) == 0 && !s.all:
		return terminal.UsageErrorf("nothing was removed: say what to remove:%s", choose)
	case s.all && len(s.names) > 0:
		return terminal.UsageErrorf("nothing was removed: --all removes everything; leave %s out", s.names[0])
	}
	return nil
}

// Run prints the table, or removes what is stored.
func (s *statusCmd) Run(c terminal.Console) error {
	if err := s.conflicts(); err != nil {
		return err
	}
	s.OfWindows = true
	x, err := s.Read()
	switch {
	case err != nil:
		return err
	case x.ProgramErr != nil:
		return x.ProgramErr
	case x.StoredErr != nil:
		return x.StoredErr
	}
	if s.all || s.remove {
		c.Slowly("measuring what is stored: this can take a minute", func() error { x.Stored.Measure(); return nil })
	}
	if s.remove {
		return s.removeStored(c, x)
	}
	if s.Everything() {
		x.NoteStarted()
	}
	rows, err := s.rows(x)
	if err != nil {
		return err
	}
	report := statusReport{Servers: rows, Problems: problemsOf(x, s.Selection, rows)}
	if s.all {
		report.Stored = leftOf(x.Stored)
	}
	broken := firstProblem(x.Stored.ConfigErr)
	if s.format == "json" {
		cli.PrintJSON(c, report)
		return broken
	}
	if len(rows) > 0 {
		c.Printf("%s", s.table(rows, time.Now(), c.TableColumns()))
	} else {
		c.Printf("%s", s.nothing(x).text(c, x))
	}
	report.print(c, x)
	return broken
}

// statusReport is what status says, as JSON.
type statusReport struct {
	Servers  []*row      `json:"servers"`
	Problems []*problem  `json:"problems"`
	Stored   *storedRest `json:"stored,omitempty"`
}

func (s *statusCmd) nothing(x *index.Index) *problem {
	if len(x.Stored.Servers) > 0 {
		return &problem{"No client has a server. To see those that you started yourself:", []string{"mcp-jail status --all"}}
	}
	return &problem{What: fmt.Sprintf("No client has a server: mcp-jail looked for the files of %d clients, and in this folder.", len(clients.All()))}
}

// removeStored shows what is to be removed, asks, and removes it.
func (s *statusCmd) removeStored(c terminal.Console, x *index.Index) error {
	removal, err := s.removal(x)
	if err != nil {
		return err
	}
	copies := s.all && !slices.ContainsFunc(x.Files, func(f *wrapping.File) bool { return f.Err != nil || f.HasWrapped() }) && hasCopies(x.Host)
	for _, text := range removal.Stays {
		c.PrintText(show.Line(text) + "\n")
	}
	if removal.Empty() && !copies {
		c.Printf("Nothing is stored that could be removed.\n")
		return nil
	}
	printRemoval(c, x, removal)
	if copies {
		c.PrintText("The copies of clients' files in " + show.Line(cli.ShortPath(filepath.Join(x.Host.StateDir, backups), x.Host.Home)) + "\n")
	}
	if !s.yes {
		question := "Remove this, " + cli.SizeText(removal.Bytes()) + "?"
		if files, bytes := removal.Data(); files > 0 { // packages and records come back, or are no loss
			question = fmt.Sprintf("Nothing brings the servers' own data back (%s, %s). %s", cli.Plural(files, "file"), cli.SizeText(bytes), question)
		}
		if err := cli.Confirm(context.Background(), c, question); err != nil {
			return err
		}
	}
	err = c.Slowly("removing "+cli.SizeText(removal.Bytes())+": this can take a minute", removal.Do)
	if err == nil && copies {
		err = wrapping.RemoveBackups(x.Host.StateDir)
	}
	if err == nil {
		c.Printf("Removed.\n")
	}
	return err
}

// backups is the directory of the copies of clients' files, in the state directory.
const backups = "backups"

func hasCopies(host hostfs.Host) bool {
	dir, err := private.Open(host.StateDir, backups)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Names()
	return err == nil && len(names) > 0
}

func (s *statusCmd) removal(x *index.Index) (*index.Removal, error) {
	if s.all {
		removal, err := x.Stored.RemovalOfAll()
		for _, of := range x.Stored.Servers {
			if err == nil && of.Running {
				removal.Stays = append(removal.Stays, show.Name(of.Called())+" stays, because it is running.")
			}
		}
		return removal, err
	}
	var servers []*index.StoredServer
	for _, name := range s.names {
		of, err := x.Pick(name, func(s *index.Server) bool { return s.Kept != nil })
		switch {
		case err != nil:
			return nil, err
		case of.Kept == nil:
			return nil, errors.New("nothing was removed: nothing is stored of " + of.Title())
		case !slices.Contains(servers, of.Kept):
			servers = append(servers, of.Kept)
		}
	}
	return x.Stored.Removal(servers)
}

func printRemoval(c terminal.Console, x *index.Index, removal *index.Removal) {
	short := func(path string) string { return cli.ShortPath(path, x.Host.Home) }
	line := func(size, format string, args ...any) {
		c.Printf("  %8s  %s\n", size, show.Line(fmt.Sprintf(format, args...)))
	}
	for _, s := range removal.Servers {
		project := ""
		if s.About.Project != "" {
			project = ", a server of the project of " + show.Line(short(s.About.Project))
		}
		c.Printf("%s%s, last used %s\n", c.Paint(terminal.Bold, show.Name(s.Called())), project, whenText(time.Now(), s.Used))
		if len(s.About.Command) > 0 {
			c.Printf("  %8s  %s\n", "", cli.Clip(terminal.ShownLine(s.About.Command), 68))
		}
		for _, h := range s.Homes {
			line(cli.SizeText(h.Bytes), "its own data, %s: %s", cli.Plural(h.Files, "file"), short(h.Path))
		}
		if s.Records > 0 {
			line(cli.SizeText(s.Records), "the records of its sessions, and what undo needs")
		}
	}
	if len(removal.Pins)+len(removal.Trees) > 0 {
		c.Printf("%s\n", c.Paint(terminal.Bold, "Packages of these servers"))
	}
	for _, e := range removal.Pins {
		line("", "the pin of %s %s in %s", e.Spec, e.Version, short(session.LockFile(x.Host)))
	}
	for _, t := range removal.Trees {
		line(cli.SizeText(t.Bytes), "the package %s: %s", t.ID, short(t.Path()))
	}
	for _, l := range removal.Leftovers {
		line(cli.SizeText(l.Bytes), "left by interrupted work: %s", short(l.Path))
	}
}
