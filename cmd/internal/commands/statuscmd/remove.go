package statuscmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// removeStored shows what is to be removed, asks, and removes it.
func (s *statusCmd) removeStored(c terminal.Console, x *index.Index) error {
	removal, err := s.removal(x)
	if err != nil {
		return err
	}
	copies := s.all && hasCopies(x.Host)
	for _, text := range removal.Stays {
		c.PrintText(show.Line(text) + "\n")
	}
	if removal.Empty() && !copies {
		c.Printf("Nothing is stored that could be removed.\n")
		return nil
	}
	printRemoval(c, x, removal)
	if copies {
		c.PrintText("Copies of clients' files that do not start mcp-jail any more, in " + show.Line(cli.ShortPath(filepath.Join(x.Host.StateDir, backups), x.Host.Home)) + "\n")
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
	err = removal.Do()
	if err == nil && copies {
		_, err = wrapping.RemoveBackups(x.Host.StateDir)
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

func (s *statusCmd) removal(x *index.Index) (*stored.Removal, error) {
	if s.all || s.unused > 0 {
		removal, err := x.Stored.Unused(s.unused)
		for _, of := range x.Stored.Servers {
			if s.all && err == nil && of.Running {
				removal.Stays = append(removal.Stays, show.Name(of.Called())+" stays, because it is running.")
			}
		}
		return removal, err
	}
	var servers []*stored.Server
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

func printRemoval(c terminal.Console, x *index.Index, removal *stored.Removal) {
	short := func(path string) string { return cli.ShortPath(path, x.Host.Home) }
	line := func(size, format string, args ...any) {
		c.Printf("  %8s  %s\n", size, show.Line(fmt.Sprintf(format, args...)))
	}
	for _, s := range removal.Servers {
		project := ""
		if s.About.Project != "" {
			project = ", a server of the project of " + show.Line(short(s.About.Project))
		}
		c.Printf("%s%s, last used %s\n", c.Paint(terminal.Bold, show.Name(x.NameOf(s.Name))), project, whenText(time.Now(), s.Used))
		if len(s.About.Command) > 0 {
			c.Printf("  %8s  %s\n", "", cli.Clip(shown.Line(s.About.Command), 68))
		}
		for _, h := range s.Homes {
			line(cli.SizeText(h.Bytes), "its own data, %s: %s", cli.Plural(h.Files, "file"), short(h.Path))
		}
		if s.Records > 0 {
			line(cli.SizeText(s.Records), "the records of its sessions, and what undo needs")
		}
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
