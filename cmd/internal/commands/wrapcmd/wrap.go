// Package wrapcmd has the commands about the files of clients: wrap, unwrap and status.
package wrapcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/pkgcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// changeCmd has the flags that wrap and unwrap share.
type changeCmd struct {
	entries.Choice
	dryRun, yes bool
}

type wrapCmd struct {
	changeCmd
	install, logins bool
}

func Wrap(line *cli.CommandLine) *cobra.Command {
	w := &wrapCmd{}
	cmd := line.Command("wrap [flags]", "Put mcp-jail in front of the servers in the files of MCP clients.", 0, false, func([]string) error {
		return w.Run(line.Console)
	})
	cmd.Long = `Without a selection, the files of every client of yours are meant, and the project
files in the working directory, such as .mcp.json and .vscode/mcp.json.

wrap shows what each server starts, what it may reach in its jail, and what it
loses. Then it shows the difference, and asks. It changes the command line of a
server and no other byte of the file, keeps a copy of the file, and writes nothing
if a client has changed the file meanwhile. ` + "`mcp-jail unwrap`" + ` takes it back.

An entry that starts a mcp-jail that does not exist any more, or another copy of it,
is repaired: it gets the path of this program, and keeps its flags.

A server gets what its entry shows: its variables, and the files and directories
among its arguments and in its variables, to read. If there is a preset for its
package, it gets what the preset says instead (` + "`mcp-jail preset`" + ` lists them). Servers
that are reached by a URL, switched off, confined by the client itself, or started
elsewhere (by docker run or ssh, for instance) are left as they are.`
	cmd.Example = `    mcp-jail wrap --dry-run
    mcp-jail wrap
    mcp-jail wrap --client claude-code --server github
    mcp-jail wrap --file ~/.cursor/mcp.json --yes --install
    mcp-jail wrap --server linear --logins`
	w.addTo(cmd)
	cmd.Flags().BoolVar(&w.install, "install", false, "Fetch and pin the packages of the wrapped servers afterwards, without asking.")
	cmd.Flags().BoolVar(&w.logins, "logins", false, "Copy the logins that servers got before, without a jail, into their private HOME, without asking.")
	return cmd
}

func (w *changeCmd) addTo(cmd *cobra.Command) {
	w.Choice.AddFlags(cmd)
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "Show what would change, and change nothing.")
	cmd.Flags().BoolVar(&w.yes, "yes", false, "Change the files without asking, for scripts.")
}

// Run shows the changes of the files, asks, and makes them.
func (w *wrapCmd) Run(c terminal.Console) error {
	host, files, err := w.Find()
	if err != nil {
		return err
	}
	program, err := entries.FindProgram(host)
	if err != nil {
		return err
	}
	// Names must differ from those in files that are not selected, too.
	all := files
	if !w.Everything() {
		all = append(slices.Clone(files), wrapping.Others(entries.ClientsHost(host), files)...)
	}
	taken, err := stored.Commands(host)
	if err != nil {
		return err
	}
	names := wrapping.NewNames(all, taken)
	wrap := func(f *wrapping.File) *wrapping.Change {
		return f.Wrap(program.Program, w.Selection, entries.ClientsHost(host), names)
	}
	changes := changesOf(files, wrap)
	if !w.dryRun && countChanged(changes) > 0 {
		if err := session.TryJail(confine.Launcher{}); err != nil {
			return fmt.Errorf("nothing was changed: no jail can be built on this host, so the servers would not start any more. `mcp-jail doctor` says what is missing:\n%w", err)
		}
	}
	printWrap(c, files, changes, host.Home)
	if !w.dryRun && !w.yes && c.Asks() && askWithheld(c, changes) {
		changes = changesOf(files, wrap)
	}
	if countChanged(changes) > 0 {
		program.Announce(c, host.Home)
	}
	written, err := w.write(c, host, changes, "Wrap", program.Keep)
	// No entry changes, but the copy that the clients start may be older than this program.
	if err == nil && !w.dryRun && len(written) == 0 {
		err = program.Refresh(c, host.Home)
	}
	if len(written) > 0 {
		entries.PrintReload(c, written)
		c.Printf("\nBack again: `mcp-jail unwrap`. How it goes: `mcp-jail status`\n")
	}
	left := unread(files, host.Home)
	if w.dryRun || err != nil && len(written) == 0 {
		return errors.Join(err, left)
	}
	return errors.Join(err, w.offerLogins(c), w.offerInstall(c, host, changes), left)
}

// askWithheld asks about each server that would be wrapped without the preset of its package, because
// its entry brings its own code. It reports whether one is to stay as it is.
func askWithheld(c terminal.Console, changes []*wrapping.Change) (left bool) {
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			if s.Withheld == "" {
				continue
			}
			question := fmt.Sprintf("%s brings its own code: %s. Wrap it without the preset %s?", entries.ServerTitle(s.Entry), show.Line(strings.Join(s.Brings, ", ")), s.Withheld)
			if !cli.AskYes(c, question) {
				ch.File.Leave(s.Key(), wrapping.Declined)
				left = true
			}
		}
	}
	return left
}

func changesOf(files []*wrapping.File, of func(*wrapping.File) *wrapping.Change) (changes []*wrapping.Change) {
	for _, f := range files {
		if f.Err == nil {
			changes = append(changes, of(f))
		}
	}
	return changes
}

func countChanged(changes []*wrapping.Change) (n int) {
	for _, ch := range changes {
		n += len(ch.Changed())
	}
	return n
}

// write shows the difference, asks, calls prepare, and writes the files. It returns the changes
// that were written; nil if there was nothing to do. If one file cannot be written, it goes on
// with the others.
func (w *changeCmd) write(c terminal.Console, host hostfs.Host, changes []*wrapping.Change, verb string, prepare func() error) (written []*wrapping.Change, err error) {
	var todo []*wrapping.Change
	for _, ch := range changes {
		if len(ch.Changed()) > 0 {
			todo = append(todo, ch)
			c.Printf("\n%s", entries.DiffText(c, ch))
		}
	}
	if todo == nil && len(changes) > 0 {
		c.Printf("\nnothing to do\n")
	}
	if todo == nil || w.dryRun {
		if todo != nil {
			c.Printf("\nnothing was changed (--dry-run)\n")
		}
		return nil, nil
	}
	c.Printf("\n")
	if !w.yes {
		// The question may wait for long, and a signal must still end it.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := cli.Confirm(ctx, c, question(verb, todo)); err != nil {
			if ctx.Err() != nil {
				return nil, errors.New("interrupted: nothing was changed")
			}
			return nil, err
		}
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	return entries.Write(c, host, todo)
}

// question asks for all changes of some files at once.
func question(verb string, todo []*wrapping.Change) string {
	repaired := 0
	for _, ch := range todo {
		for _, s := range ch.Changed() {
			if s.Repair != nil {
				repaired++
			}
		}
	}
	var parts []string
	if n := countChanged(todo) - repaired; n > 0 {
		parts = append(parts, verb+" "+cli.Plural(n, "server"))
	}
	if repaired > 0 {
		parts = append(parts, "repair "+cli.Plural(repaired, "server"))
	}
	text := strings.Join(parts, " and ") + " in " + cli.Plural(len(todo), "file") + "?"
	return strings.ToUpper(text[:1]) + text[1:]
}

// offerInstall asks whether to fetch the packages of the servers that were wrapped now, as far as
// they are missing, and fetches them. With --install it does not ask, and fetches the packages of
// all wrapped servers.
func (w *wrapCmd) offerInstall(c terminal.Console, host hostfs.Host, changes []*wrapping.Change) error {
	lines := launcherLines(changes, w.install)
	if all, err := stored.Look(host); err == nil && !w.install {
		lines = slices.DeleteFunc(lines, func(l launcherLine) bool { return all.Fetched(l.argv) })
	}
	switch {
	case len(lines) == 0:
		return nil
	case w.install:
	case w.yes || !c.Asks():
		c.Printf("The first start of each server fetches its package. Ahead of time: `mcp-jail wrap --install`\n")
		return nil
	case !cli.AskYes(c, fmt.Sprintf("Fetch and pin the packages of %s now? Else the first start does it, and the client may give up before.", cli.Plural(len(lines), "server"))):
		c.Printf("Later: `mcp-jail wrap --install`\n")
		return nil
	}
	var failed []error
	for _, line := range lines {
		err := pkgcmd.InstallLine(c, line.flags, line.argv, w.yes)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", show.Spelled(line.argv), err))
		}
	}
	return errors.Join(failed...)
}

// launcherLine is the line of a launcher, and the flags with which mcp-jail run starts it.
type launcherLine struct{ flags, argv []string }

// launcherLines returns the launcher's lines of the servers that changed, one for each name and
// package. With wrapped, it also returns those of the servers that were wrapped before.
func launcherLines(changes []*wrapping.Change, wrapped bool) (lines []launcherLine) {
	seen := map[string]bool{}
	for _, ch := range changes {
		for _, s := range ch.Servers {
			name, flags, argv := s.Name, append([]string{"--name", s.Name}, s.Flags...), s.Argv()
			// Its line has the name and the flags that it was wrapped with.
			if w, ok := clients.ParseWrapped(argv); ok && wrapped {
				name, flags, argv = w.Name, w.Flags, w.Argv
			} else if s.Left != "" || s.Repair != nil {
				continue
			}
			line, err := runline.Parse(argv)
			key := name + " " + line.Wanted("")
			if err != nil || seen[key] {
				continue
			}
			seen[key] = true
			lines = append(lines, launcherLine{flags, argv})
		}
	}
	return lines
}
