// Package pkgcmd has the commands about packages, data and records of servers: install, list and rm.
package pkgcmd

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type installCmd struct {
	cmdline.ConfigFlags
	servers     []string
	given       cmdline.Server      // a launcher's line after --
	flags       cmdline.PolicyFlags // the policy of given, if wrap wrote its line
	scripts     bool
	update      bool
	acceptTools bool
	yes         bool
	forSession  bool
	forWrap     bool
	own         bool // the line of forSession is of the user's own

	warned []string // lines that were said once
}

func Install(line *cli.CommandLine) *cobra.Command {
	i := &installCmd{}
	cmd := line.Command("install [options] [SERVER...]", "Download a server's package and pin its version, or update it", cli.AnyNumber, true, func(args []string) error {
		i.servers, i.given = args, line.Server
		return i.Run(line.Console)
	})
	cmd.Long = `install downloads the packages of servers and pins their versions in mcp-jail.lock. SERVER
is a name that ` + "`mcp-jail status`" + ` shows, or a package. A line of npx or uvx may come
after --. Without both, all servers with a package are meant.

The download runs in a jail that reaches the registry and nothing else, and no script of a
package runs. From then on the server starts without a network, from files that it cannot
change. If stored files differ from the pinned ones, install puts these back.

With --update it starts the newest version in a jail without hosts, shows what changes, and
asks.`
	cmd.Example = `    mcp-jail install github
    mcp-jail install --update
    mcp-jail install -- npx -y @modelcontextprotocol/server-memory`
	cli.AddFlags(cmd, i.Flags()...)
	f := cmd.Flags()
	f.BoolVar(&i.update, "update", false, "Download the newest version, show the changes, and ask")
	f.BoolVar(&i.acceptTools, "accept-tools", false, "Pin the tools that the server lists now")
	f.BoolVar(&i.yes, "yes", false, "Accept updates without asking")
	f.BoolVar(&i.scripts, "install-scripts", false, "Run install scripts, in a jail without a network")
	f.BoolVar(&i.forSession, "for-session", false, "")
	f.BoolVar(&i.forWrap, "for-wrap", false, "")
	f.BoolVar(&i.own, "own", false, "")
	for _, name := range []string{"for-session", "for-wrap", "own"} { // mcp-jail run and wrap ask with them
		f.MarkHidden(name)
	}
	cmd.ValidArgsFunction = index.Propose(line, func(s *index.Server) bool { return s.Kept != nil })
	return cmd
}

// Run installs packages, one after the other. If one fails, it goes on with the others.
func (i *installCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	interrupted := cli.Interrupts()
	defer signal.Stop(interrupted)
	status := make(chan error, 1)
	go func() {
		session.Prove(ctx, c)
		status <- i.run(ctx, c, host)
	}()
	select {
	case err = <-status:
		return err
	case s := <-interrupted:
		signal.Stop(interrupted) // the second one ends the program at once
		cancel()
		// What was begun must be put away before this process ends.
		<-status
		if !i.forSession && !i.forWrap {
			return &terminal.InterruptedError{Signal: s, Undone: "what was downloaded is kept. The same command goes on with it"}
		}
		return terminal.ReportedStatus(terminal.Failure)
	}
}

func (i *installCmd) run(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	switch {
	case i.forSession, i.forWrap:
		return i.serve(ctx, c, host)
	case i.update && i.acceptTools:
		return terminal.UsageErrorf("--update and --accept-tools are different things: give one of them")
	case i.acceptTools:
		return i.acceptAll(c, host)
	}
	all, failed, err := i.wanted(c, host)
	if err != nil {
		return err
	}
	for _, w := range all {
		err := i.one(ctx, c, host, w)
		var usage *terminal.UsageError
		var declined *terminal.DeclinedError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
		case errors.As(err, &declined):
			c.Notef("%s was not updated.", w.name)
			failed = true
		case len(all) == 1 && errors.As(err, &usage): // its mistake is that of the command line
			return err
		default:
			c.Errorf("%s", failureText(w.name, err))
			failed = true
		}
	}
	if failed {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}

// failureText says that a server lacks its package. The text of a failed download says why.
func failureText(name string, err error) string {
	var fetch *install.FetchError
	if errors.As(err, &fetch) {
		return name + " is not ready: " + err.Error()
	}
	return withName(name, err)
}

// withName returns the text of an error about a server or package. It begins with the name.
func withName(name string, err error) string {
	if text := err.Error(); strings.HasPrefix(text, name) {
		return text
	}
	return name + ": " + err.Error()
}

// wanted is one package to install, and the server that it is for.
type wanted struct {
	name  string // of the server, or of the package
	asked string // the arguments of mcp-jail install for it
	own   bool   // the user has typed the line, or the file that has it
	line  runline.Line
	load  func() (*session.Target, error) // the server, not resolved
}

// wanted returns the packages that the command line names. failed reports whether it has printed
// the error of a server.
func (i *installCmd) wanted(c terminal.Console, host hostfs.Host) (all []wanted, failed bool, err error) {
	if i.given.Given {
		w, err := i.behindDashes()
		if err != nil {
			return nil, false, err
		}
		all = append(all, w)
		if len(i.servers) == 0 {
			return all, false, nil
		}
	}
	x, err := index.Read()
	if err != nil {
		return nil, false, err
	}
	names := i.servers
	if len(names) == 0 {
		files, err := session.ExpandHome(i.Config)
		if err != nil {
			return nil, false, err
		}
		cfg, err := config.Load(config.LoadOptions{Files: files})
		if err != nil {
			return nil, false, err
		}
		names = cfg.ServerNames()
	}
	var unclear *runline.NotUnderstoodError
	for _, name := range names {
		w, err := i.named(x, name)
		switch {
		case err == nil:
			all = append(all, w)
		case len(i.servers) > 0 && (errors.As(err, &unclear) || errors.Is(err, runline.ErrNotLauncher)):
			return nil, false, terminal.UsageErrorf("%s", err)
		case len(i.servers) > 0:
			return nil, false, err
		case errors.Is(err, runline.ErrNotLauncher):
		case errors.As(err, &unclear):
			c.Notef("mcp-jail: not installed: server %s: %s", name, show.Line(unclear.Error()))
		default:
			c.Errorf("%s", withName(name, err))
			failed = true
		}
	}
	if len(i.servers) == 0 && len(i.Config) == 0 {
		if all, err = i.addPinned(x, all); err != nil {
			return nil, false, err
		}
	}
	if len(all) == 0 && !failed {
		return nil, false, terminal.UsageErrorf("no configured server is started by npx, uvx or the like, and no package is pinned. A line can come after --:\n  mcp-jail install -- npx -y PACKAGE")
	}
	return all, failed, nil
}

// launchers names the programs whose lines package runline parses, for messages.
const launchers = "npx, npm exec, uvx and uv tool run"

func (i *installCmd) behindDashes() (wanted, error) {
	if len(i.given.Argv) == 0 {
		return wanted{}, terminal.UsageErrorf("there is no command after --. Type for example\n  mcp-jail install -- npx -y PACKAGE")
	}
	w, err := i.typed(i.given.Argv)
	w.own = true
	return w, err
}

func (i *installCmd) configured(name string) (wanted, error) {
	load := func() (*session.Target, error) {
		return session.Load(i.ConfigFlags, cmdline.PolicyFlags{}, name, "", cmdline.Server{})
	}
	t, err := load()
	if err != nil {
		return wanted{}, err
	}
	line, err := runline.Parse(append([]string{t.Policy.Command}, t.Policy.Arguments...))
	if errors.Is(err, runline.ErrNotLauncher) {
		return wanted{}, &noPackageError{name, t.Policy.Command, err}
	}
	if err != nil {
		return wanted{}, fmt.Errorf("server %s: %w", name, err)
	}
	return wanted{name: name, asked: t.Asked(), own: len(i.Config) > 0, line: line, load: load}, nil
}

// noPackageError reports that no launcher starts a server.
type noPackageError struct {
	server, command string
	err             error
}

func (e *noPackageError) Error() string {
	return "server " + e.server + " is started by " + e.command + ", which fetches no package: there is nothing to install"
}

func (e *noPackageError) Unwrap() error { return e.err }

func (i *installCmd) acceptAll(c terminal.Console, host hostfs.Host) error {
	if i.given.Given {
		return terminal.UsageErrorf("--accept-tools takes names, no command after --")
	}
	if len(i.servers) == 0 {
		return terminal.UsageErrorf("name a server or package whose tools you accept: mcp-jail install --accept-tools NAME")
	}
	for _, name := range i.servers {
		if w, err := i.configured(name); err == nil {
			name = w.line.Packages[0].Name
		}
		changes, err := session.AcceptTools(host, name)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			c.Printf("%s: no other tools wait to be accepted\n", show.Line(name))
			continue
		}
		c.Printf("the pinned tools of %s:\n", show.Line(name))
		for _, change := range changes {
			c.Printf("  %s\n", show.Line(change))
		}
	}
	return nil
}
