// Package wrapcmd has the commands about the files of clients: wrap, unwrap and status.
package wrapcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/prefetch"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// changeCmd has the flags that wrap and unwrap share.
type changeCmd struct {
	index.Choice
	dryRun, yes bool
	fetches     []*prefetch.Package // after the change
	first       string              // what the answer yes agrees to besides
}

type wrapCmd struct {
	changeCmd
	install, noInstall bool
	forSession         bool
	acceptGaps         []string
}

func Wrap(line *cli.CommandLine) *cobra.Command {
	w := &wrapCmd{}
	cmd := line.Command("wrap [flags]", "Put mcp-jail in front of the servers in the files of MCP clients.", 0, false, func([]string) error {
		return w.Run(line.Console)
	})
	w.takeAxes(cmd)
	cmd.Long = `Without a selection, the files of every client of yours are meant, and the project
files in the working directory, such as .mcp.json and .vscode/mcp.json. The servers that
plugins and extensions bring are among them; an update of a plugin takes its servers out
again, and status and the next start say so.

wrap shows what each server starts, what it may reach in its jail, and what it
loses. Then it shows the difference, and asks. It puts ` + "`mcp-jail run --id ID --`" + ` before
the command line of a server of yours, and changes no other byte of the client's file. What
the server may do is in a file of its own, servers/NAME.toml in the directory of mcp-jail's
configuration. wrap keeps a copy of the client's file, and writes nothing if a client has
changed the file meanwhile. ` + "`mcp-jail unwrap`" + ` takes the words out again.

Then it fetches and pins the packages of the wrapped servers that are not there yet, as
` + "`mcp-jail install`" + ` does, and starts no server. If that fails or is interrupted, the
servers stay wrapped. Typed again, wrap goes on, and so does the first start of a server.

If a server of yours kept logins or data before, where mcp-jail knows the place, wrap lists the
files and asks whether to copy them into its private HOME. With --yes it copies them.

Where this host cannot enforce all of a policy, as where it refuses user namespaces,
wrap first says what would change that. Then it names each gap, and what the server
could do. With the answer yes the servers' files accept it; --yes accepts no gap, and
--accept-gaps does. When the host can enforce it again, wrap takes that out.

On WSL, wrap names the servers of clients on Windows and leaves them. With --windows it
has them start in this Linux, by wsl.exe, where the entry is one that can.

An entry that starts a mcp-jail that does not exist any more, or another copy of it, gets
the path of this program. If you have changed the command line of a wrapped server, its file
gets the new one. Flags of an older entry are read into a file once. Where the preset of a
server now gives what its file has not, wrap shows that and the command that takes it.

A server gets what its entry shows: its variables but those of a proxy, and what its
arguments and variables name, also in lists such as a:b and a,b. These are files and
directories, to read, and the host and port of a URL of this machine. If there is a preset
for its package, its arguments give what the preset says instead (` + "`mcp-jail preset`" + ` lists
them). A server
in a project's or a plugin's file gets ` + "`mcp-jail run --`" + ` and the default policy: others may
have written the entry. Servers that are reached by a URL, switched off, confined by the client itself, or started
elsewhere (by docker run or ssh, for instance) are left as they are.`
	cmd.Example = `    mcp-jail wrap --dry-run
    mcp-jail wrap
    mcp-jail wrap --client claude-code --server github
    mcp-jail wrap --file ~/.cursor/mcp.json --yes --no-install
    mcp-jail wrap --yes --accept-gaps fs,process,limits`
	w.addTo(cmd)
	cmd.Flags().BoolVar(&w.noInstall, "no-install", false, "Leave fetching the packages to the first start of each server.")
	cmd.Flags().BoolVar(&w.install, "install", false, "")
	cmd.Flags().MarkHidden("install") // the name of before for what wrap does without a flag
	cmd.Flags().BoolVar(&w.forSession, "for-session", false, "")
	cmd.Flags().MarkHidden("for-session") // mcp-jail run asks with it
	cli.AddFlag(cmd, cmdline.Flag{Name: "accept-gaps", Value: "AXIS", Many: &w.acceptGaps, Usage: "Accept what this host cannot enforce on these axes, or on macOS under any policy, without asking: fs,process,limits or macos. It is written into the files of the servers that need it. --yes accepts no gap."}, cobra.FixedCompletions(cmdline.Waivers(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (w *changeCmd) addTo(cmd *cobra.Command) {
	w.Choice.AddFlags(cmd)
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "Show what would change, and change nothing.")
	cmd.Flags().BoolVar(&w.OfWindows, "windows", false, "On WSL, the files of clients on Windows too. Their servers run in this Linux, by wsl.exe.")
	cmd.Flags().BoolVar(&w.yes, "yes", false, "Change the files without asking, for scripts.")
}

// Run shows the changes of the files, asks, and makes them.
func (w *wrapCmd) Run(c terminal.Console) error {
	if w.forSession {
		return takeOver(c)
	}
	if w.install && w.noInstall {
		return exit.UsageErrorf("--install and --no-install are opposites: give one of them. Without both, wrap fetches the packages")
	}
	host, files, err := w.find()
	if err != nil {
		return err
	}
	program, err := index.FindProgram(host)
	if err != nil {
		return err
	}
	ids := w.ids(host, files)
	w.Selection.Unasked = w.yes
	wrap := func(f *wrapping.File) *wrapping.Change {
		return f.Wrap(program.Program, w.Selection, index.ClientsHost(host), ids)
	}
	changes := changesOf(files, wrap)
	open, refused := lookForGaps(c, program.Program, index.ClientsHost(host), changes)
	if refused != nil && !w.dryRun {
		return refused
	}
	changes = changesOf(files, wrap) // with what was found
	printWrap(c, files, changes, host.Home)
	printNamed(c, host, w.Selection)
	w.printWindows(c, host, false, "left without a jail (--windows puts them into one, in this Linux)")
	if open.print(c); !w.dryRun {
		if err := open.check(c, w); err != nil {
			return err
		}
	}
	if !w.noInstall {
		w.fetches = prefetch.Missing(host, index.ClientsHost(host), changes)
	}
	if countChanged(changes) > 0 {
		program.Announce(c, host.Home)
	}
	w.first = open.question(w)
	written, err := w.write(c, host, changes, "wrap", func() error { return errors.Join(program.Keep(), wrapping.WriteFiles(host.ConfigDir, changes)) })
	if len(written) == 0 && err == nil && !w.dryRun {
		err = program.Refresh(c, host.Home) // the copy that the clients start may be older than this program
	}
	err = errors.Join(err, renameHomes(host, written))
	if len(written) > 0 {
		index.PrintReload(c, written)
		c.Printf("\nBack again: `mcp-jail unwrap`. How it goes: `mcp-jail status`\n")
	}
	left := errors.Join(unread(files, host.Home), w.refresh(host, files))
	if w.dryRun || err != nil && len(written) == 0 {
		return errors.Join(refused, err, left)
	}
	return errors.Join(err, w.complete(c, host, written, err), left)
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

// complete offers what servers kept before and fetches packages, unless a signal ends that.
func (w *wrapCmd) complete(c terminal.Console, host hostfs.Host, written []*wrapping.Change, failed error) error {
	if failed != nil && !w.noInstall { // some files stay as they were
		w.fetches = prefetch.Missing(host, index.ClientsHost(host), written)
	}
	err := w.offerEarlier(c, host.Home)
	if interrupted := (*exit.InterruptedError)(nil); errors.As(err, &interrupted) {
		return err
	}
	return errors.Join(err, prefetch.Fetch(c, w.fetches))
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

// renameHomes moves the private HOMEs and records of servers from their former names to their ids.
func renameHomes(host hostfs.Host, written []*wrapping.Change) (err error) {
	done := map[string]bool{}
	for _, ch := range written {
		for _, s := range ch.Changed() {
			if s.Former == "" || done[s.Former] {
				continue
			}
			done[s.Former] = true
			line, _ := clients.ParseWrapped(s.Argv())
			words := ch.File.Started(s.Entry, line.Argv, index.ClientsHost(host))
			if line.ID != "" {
				words = nil
			}
			err = errors.Join(err, records.Rename(host, s.Former, s.Own.Server.ID, words))
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
			if todo = append(todo, ch); ch.Rewrites() {
				c.Printf("\n%s", index.DiffText(c, ch))
			}
		}
	}
	agrees := todo != nil || w.first != ""
	if !agrees && len(changes) > 0 && w.fetches == nil {
		c.Printf("\nnothing to do\n")
	}
	if w.dryRun && w.fetches != nil {
		c.PrintText(fmt.Sprintf("\nto be fetched, unless --no-install is given: %s\n", prefetch.Names(w.fetches)))
	}
	if !agrees || w.dryRun {
		if w.dryRun && (todo != nil || w.fetches != nil) {
			c.Printf("\nnothing was changed (--dry-run)\n")
		}
		return nil, nil
	}
	c.Printf("\n")
	if !w.yes {
		if err := cli.Confirm(context.Background(), c, question(w.first, verb, todo, w.fetches)); err != nil {
			return nil, err
		}
	}
	if err := prepare(); err != nil {
		return nil, err
	}
	return index.Write(c, host, todo)
}

// question asks for all changes of some files at once, for what comes first, and for what is fetched
// after them.
func question(first, verb string, todo []*wrapping.Change, fetches []*prefetch.Package) string {
	repaired, updated := 0, 0
	for _, ch := range todo {
		for _, s := range ch.Changed() {
			if _, was := clients.ParseWrapped(s.Argv()); s.Repair != nil {
				repaired++
			} else if _, is := clients.ParseWrapped(s.After); was && is {
				updated++
			}
		}
	}
	var parts []string
	if first != "" {
		parts = append(parts, first)
	}
	if n := countChanged(todo) - repaired - updated; n > 0 {
		parts = append(parts, verb+" "+cli.Plural(n, "server"))
	}
	if repaired > 0 {
		parts = append(parts, "repair "+cli.Plural(repaired, "server"))
	}
	if updated > 0 {
		parts = append(parts, "write the policy of "+cli.Plural(updated, "server"))
	}
	text := strings.Join(parts, " and ")
	if len(todo) > 0 {
		text += " in " + cli.Plural(len(todo), "file")
	}
	if len(fetches) > 0 {
		text += ", and fetch " + cli.Plural(len(fetches), "package")
	}
	text += "?"
	return strings.ToUpper(text[:1]) + text[1:]
}
