// Package wrapcmd has the commands that change the files of clients: wrap and unwrap.
//
// They also write the files of servers and copies of what they replace, both through package wrapping, and fetch packages.
// Begin at wrapCmd.Run, which has the steps in their order.
package wrapcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// changeCmd has the flags that wrap and unwrap share.
type changeCmd struct {
	index.Choice
	dryRun, yes bool
}

type wrapCmd struct {
	changeCmd
	noInstall  bool
	forSession bool
	waive      []string
}

func Wrap(line *cli.CommandLine) *cobra.Command {
	w := &wrapCmd{}
	cmd := line.Command("wrap [options]", 0, false, func([]string) error {
		return w.Run(line.Console)
	})
	cmd.Long = `wrap finds the servers of your MCP clients, of their plugins and of the project in the
working directory. It shows what each may reach in its jail, and asks. Then it puts
` + "`mcp-jail run --id ID --`" + ` before the command line of each server and changes no other byte
of the file. It downloads the packages of the servers and pins their versions.

What a server may reach comes from its own entry and, for well-known servers, from
mcp-jail's preset. It is written into a file of its own, servers/NAME.toml, which
` + "`mcp-jail grant`" + ` changes. Servers at a URL, in a container or on another machine stay
as they are. docs/clients.md says more.

If this machine can only build a weaker jail, wrap says what a server could do then, and
asks about that. In a script, --waive names what you accept: --yes accepts nothing.`
	cmd.Example = `    mcp-jail wrap
    mcp-jail wrap --client claude-code --server github
    mcp-jail wrap --yes --no-install`
	w.addTo(cmd)
	cmd.Flags().BoolVar(&w.noInstall, "no-install", false, "Download packages at the first start, not now")
	cmd.Flags().BoolVar(&w.forSession, "for-session", false, "")
	cmd.Flags().MarkHidden("for-session") // mcp-jail run asks with it
	cli.AddFlags(cmd, cmdline.Flag{Name: "waive", Value: "PART", Many: &w.waive, Usage: "Accept a weaker jail: fs, process, limits, macos"})
	return cmd
}

func (w *changeCmd) addTo(cmd *cobra.Command) {
	w.Choice.AddFlags(cmd)
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "Show what would change, and change nothing")
	cmd.Flags().BoolVar(&w.OfWindows, "windows", false, "On WSL, the clients on Windows too")
	cmd.Flags().BoolVar(&w.yes, "yes", false, "Change the files without asking")
}

// Run shows what becomes of the servers, asks, and changes the files.
func (w *wrapCmd) Run(c terminal.Console) error {
	if w.forSession {
		return takeOver(c)
	}
	host, files, err := w.Find()
	if err = cmp.Or(err, w.checkWindows()); err != nil {
		return err
	}
	program, err := index.FindProgram(host)
	if err != nil {
		return err
	}
	ids := w.ids(host, files)
	w.Selection.Unasked = w.yes
	draft := func() []*wrapping.Change {
		return changesOf(files, func(f *wrapping.File) *wrapping.Change {
			return f.Wrap(program.Program, w.Selection, index.ClientsHost(host), ids)
		})
	}
	weaker, noJail := lookForGaps(c, config.ReadServers(host.ConfigDir), index.ClientsHost(host), draft())
	if noJail != nil && !w.dryRun {
		return noJail
	}
	changes := draft() // with what was found
	missing := missing(host, index.ClientsHost(host), changes)
	fetches := missing
	if w.noInstall {
		fetches = nil
	}
	broken := printBroken(c, files, host.Home, "wrap")
	s := w.screen(c, host, program, changes, missing)
	weaker.print(c)
	if s.isEmpty() && fetches == nil {
		w.printNothing(c, host, changes)
	} else {
		s.print()
	}
	if w.yes && !w.dryRun && withNotes(changed(changes)) != nil {
		s.notes()
	}
	if w.dryRun {
		s.printAll()
		return errors.Join(noJail, broken)
	}
	if err := weaker.check(c, w); err != nil {
		return err
	}
	if !s.isEmpty() && !w.yes {
		if err := s.ask(question("Wrap", changes, weaker.servers != nil)); err != nil {
			return err
		}
	}
	return cmp.Or(w.change(c, s, host, program, files, fetches), broken)
}

// change writes the files, and downloads packages.
func (w *wrapCmd) change(c terminal.Console, s *screen, host hostfs.Host, program index.Program, files []*wrapping.File, fetches []*missingPackage) error {
	written, err := w.write(c, host, program, s.changes)
	if err != nil && len(written) == 0 {
		return err
	}
	if len(written) > 0 {
		defer s.printWritten("Wrapped", host.StateDir, written) // the clients are restarted after the downloads
	}
	if err != nil && !w.noInstall { // some files stay as they were
		fetches = missing(host, index.ClientsHost(host), written)
	}
	x, failed := w.Choice.Read()
	if failed == nil && w.Everything() {
		x.NoteStarted()
	}
	if err = errors.Join(err, failed); failed == nil {
		err = errors.Join(err, w.notePrograms(c, x))
	}
	if interrupted := (*terminal.InterruptedError)(nil); errors.As(err, &interrupted) {
		return err
	}
	if err != nil {
		err = terminal.ReportedStatus(terminal.Report(c, err))
	}
	return cmp.Or(err, fetch(c, fetches))
}

// screen returns what is shown before the question.
func (w *wrapCmd) screen(c terminal.Console, host hostfs.Host, program index.Program, changes []*wrapping.Change, missing []*missingPackage) *screen {
	var fresh []wrapping.ServerChange
	var later, also []string // what is downloaded later, and lines of text
	for _, ch := range changes {
		for _, s := range ch.Changed() {
			if _, wrapped := clients.ParseWrapped(s.Argv()); !wrapped {
				fresh = append(fresh, s)
			}
			if _, err := runline.Parse(s.Argv()); err == nil && ch.File.IsProject() {
				later = append(later, index.ServerTitle(s.Entry))
			} else if s.Own != nil && !w.dryRun { // the id of a dry run is not the one that is written
				also = append(also, noMemories(s, host)...)
			}
		}
	}
	if later != nil {
		also = append(also, listed(unique(later))+" will be downloaded at the first start, because a file of this project names the package.")
	}
	s := &screen{c: c, home: host.Home, changes: changes}
	repaired, of := repairs(changed(changes), host.Home)
	s.reach = of
	fails := func(s wrapping.ServerChange) bool { return s.Fails != nil }
	switch n := countChanged(changes); {
	case n == 0:
	case len(fresh) < n, slices.ContainsFunc(fresh, fails):
		s.intro = []string{cli.Plural(n, "server") + " will change:"}
	case n == 1:
		s.intro = []string{"This server will start in a jail. It can then use only what is listed:"}
	default:
		s.intro = []string{fmt.Sprintf("These %d servers will start in a jail. Each can then use only what is listed:", n)}
	}
	s.intro = append(s.paragraphs(repaired), s.intro...)
	temporary, about := program.About(host.Home)
	s.outro = slices.Concat(losses(fresh), versions(fresh, missing, w.noInstall), also, stayOpen(changes), temporary)
	if !w.yes {
		s.outro = append(s.outro, withNotes(fresh)...)
	}
	if len(fresh) > 0 {
		s.outro = append(s.outro, "To take the servers out of the jail again:", "  mcp-jail unwrap")
	}
	s.notes = func() { w.printNotes(c, host, changes, about) }
	return s
}

// printNothing says why there is nothing to ask about.
func (w *wrapCmd) printNothing(c terminal.Console, host hostfs.Host, changes []*wrapping.Change) {
	switch {
	case len(changes) > 0:
	case !w.Everything():
		c.PrintText("No servers were found in what you named. To see all servers:\n  mcp-jail status\n")
	default:
		c.PrintText(fmt.Sprintf("No client with servers was found. wrap looked for the files of %d clients, and in the working directory. For another file:\n  mcp-jail wrap --file FILE\n", len(clients.All())))
	}
	open := stayOpen(changes)
	switch {
	case len(changes) > 0 && open == nil:
		c.Printf("Nothing to do: all servers that can start in the jail do.\n")
	case len(changes) > 0:
		c.Printf("Nothing to do.\n")
	}
	for _, text := range open {
		c.PrintText(text + "\n")
	}
}

// write writes the files. If one cannot be written, it goes on with the others.
func (w *wrapCmd) write(c terminal.Console, host hostfs.Host, program index.Program, changes []*wrapping.Change) (written []*wrapping.Change, err error) {
	if err := program.Keep(); err != nil || countChanged(changes) == 0 {
		return nil, err
	}
	if err := wrapping.WriteFiles(host.ConfigDir, changes); err != nil {
		return nil, err
	}
	written, err = index.Write(c, host, "wrap", changes)
	return written, errors.Join(err, wrapping.Remember(host.StateDir, index.ClientsHost(host), w.Selection, written), renameHomes(host, written))
}

// takeOver answers a start with other words than those of its id.
func takeOver(c terminal.Console) error {
	var asked session.OtherWords
	if err := json.NewDecoder(c.Input()).Decode(&asked); err != nil {
		return fmt.Errorf("the words of the start are missing: %w", err)
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	place, err := wrapping.TakeOver(host.ConfigDir, index.ClientsHost(host), asked.ID, asked.Given)
	if err == nil && place != "" {
		c.Printf("%s\n", place)
	}
	return err
}

// ids returns the ids that are taken. Those in files that are not selected are among them.
func (w *wrapCmd) ids(host hostfs.Host, files []*wrapping.File) *wrapping.IDs {
	all := files
	if !w.Everything() {
		all = append(slices.Clone(files), wrapping.Others(index.ClientsHost(host), files)...)
	}
	leaveRefused(files, w.Selection, host, index.ClientsHost(host))
	var tables []string
	if cfg, _, err := session.LoadTrusted(config.LoadOptions{}, host); err == nil { // else check says what is wrong
		for _, name := range cfg.ServerNames() {
			if s := cfg.Servers[name]; s.Command != "" && s.Project == "" {
				tables = append(tables, name)
			}
		}
	}
	return wrapping.NewIDs(host.ConfigDir, all, tables)
}

// renameHomes moves the private HOMEs and records of servers from their former ids.
func renameHomes(host hostfs.Host, written []*wrapping.Change) (err error) {
	done := map[string]bool{}
	for _, ch := range written {
		for _, s := range ch.Changed() {
			if s.Former != "" && !done[s.Former] {
				done[s.Former] = true
				err = errors.Join(err, records.Rename(host, s.Former, s.Own.Server.ID))
			}
		}
	}
	return err
}

func changesOf(files []*wrapping.File, of func(*wrapping.File) *wrapping.Change) (changes []*wrapping.Change) {
	for _, f := range files {
		if f.Err == nil {
			changes = append(changes, of(f))
		}
	}
	return changes
}

// changed returns the servers that change.
func changed(changes []*wrapping.Change) (all []wrapping.ServerChange) {
	for _, ch := range changes {
		all = append(all, ch.Changed()...)
	}
	return all
}

func countChanged(changes []*wrapping.Change) int { return len(changed(changes)) }

// question asks for all changes at once.
func question(verb string, changes []*wrapping.Change, weaker bool) string {
	files := 0
	for _, ch := range changes {
		if len(ch.Changed()) > 0 {
			files++
		}
	}
	where := cli.Plural(files, "file")
	if weaker {
		where = "the weaker jail"
	}
	return verb + " " + cli.Plural(countChanged(changes), "server") + " in " + where + "?"
}

// leaveRefused leaves the selected servers that mcp-jail does not start on Windows, such as a batch file, or a
// script of another machine: their clients start them, and they would be gone after wrap.
func leaveRefused(files []*wrapping.File, sel wrapping.Selection, host hostfs.Host, as clients.Host) {
	if host.OS != "windows" {
		return
	}
	for _, f := range files {
		for _, e := range slices.Clone(f.Entries) {
			argv := f.Started(e, e.Argv(), as)
			_, wrapped := clients.ParseWrapped(argv)
			if !sel.Has(e.Server) || wrapped || e.Left != "" || len(argv) == 0 {
				continue
			}
			look := host
			look.Dir, look.Environ = cmp.Or(f.StartDir(e, as), host.Dir), slices.Clone(host.Environ)
			for _, v := range e.Env {
				if !v.Unset {
					look.Environ = append(look.Environ, v.Name+"="+f.Started(e, []string{v.Value}, as)[0])
				}
			}
			var refused *resolve.CommandError
			if _, err := resolve.FindProgram(look, argv...); errors.As(err, &refused) && refused.Refused {
				f.Leave(e.Key(), clients.Reason("would not start in a jail: "+refused.Error()))
			}
		}
	}
}
