// Package pkgcmd has the command install, which writes the lock file, the store of packages and the pins of tools.
// Begin at [Install].
package pkgcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
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
	own         bool     // the line of forSession is of the user's own
	newest      []string // what --update found nothing newer for
	format      string
	result      installResult
}

// installResult is what became of each package.
type installResult struct {
	Packages []installedPackage `json:"packages"`
}

type installedPackage struct {
	Name    string `json:"name"` // of the server, or of the package
	Package string `json:"package,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

func Install(line *cli.CommandLine) *cobra.Command {
	i := &installCmd{}
	cmd := line.Command("install [options] [SERVER...]", cli.AnyNumber, true, func(args []string) error {
		i.servers, i.given = args, line.Server
		i.result.Packages = []installedPackage{}
		return cli.WithResult(line.Console, i.format, &i.result, i.Run)
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
	cli.AddFlags(cmd, cli.FormatFlag(&i.format))
	f := cmd.Flags()
	f.BoolVar(&i.update, "update", false, "Download the newest version, show the changes, and ask")
	f.BoolVar(&i.acceptTools, "accept-tools", false, "Unpin the tools. The next list is pinned unseen")
	f.BoolVar(&i.yes, "yes", false, "Accept updates without asking")
	f.BoolVar(&i.scripts, "install-scripts", false, "Run install scripts, in a jail without a network")
	f.BoolVar(&i.forSession, "for-session", false, "")
	f.BoolVar(&i.forWrap, "for-wrap", false, "")
	f.BoolVar(&i.own, "own", false, "")
	for _, name := range []string{"for-session", "for-wrap", "own"} { // mcp-jail run and wrap ask with them
		f.MarkHidden(name)
	}
	return cmd
}

// Run installs packages, a few at once. If one fails, it goes on with the others.
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
		status <- i.run(ctx, cancel, c, host)
	}()
	select {
	case err = <-status:
		return err
	case <-interrupted:
		signal.Stop(interrupted) // the second one ends the program at once
		cancel()
		// What was begun must be put away before this process ends.
		<-status
		if !i.forSession && !i.forWrap {
			return &terminal.InterruptedError{Undone: "what was downloaded is kept. The same command goes on with it"}
		}
		return terminal.ReportedStatus(terminal.Failure)
	}
}

func (i *installCmd) run(ctx context.Context, cancel func(), c terminal.Console, host hostfs.Host) error {
	switch {
	case i.forSession:
		return i.serveSession(ctx, c, host)
	case i.update && i.acceptTools:
		return terminal.UsageErrorf("--update and --accept-tools are different things: give one of them")
	case i.acceptTools:
		return i.acceptAll(c, host)
	}
	all, failed, err := i.wanted(c, host, cancel)
	if errors.As(err, new(*config.UnknownServerError)) {
		return terminal.UsageErrorf("%s. To see your servers:\n  mcp-jail status", err)
	}
	if err != nil {
		return err
	}
	r := i.begin(ctx, c, host, all)
	for j := range r.finished() {
		err := i.finish(ctx, c, j)
		close(j.finished)
		i.result.Packages = append(i.result.Packages, j.installed(err))
		var usage *terminal.UsageError
		var declined *terminal.DeclinedError
		switch {
		case err == nil, j.stopped, errors.Is(err, context.Canceled):
		case errors.As(err, &declined):
			r.board.quietly(func() { c.Notef("%s was not updated.", j.name) })
			failed = true
		case len(all) == 1 && errors.As(err, &usage): // its mistake is that of the command line
			return err
		default:
			r.board.quietly(func() { c.Errorf("%s", failureText(j.name, err)) })
			failed = true
		}
	}
	switch newest := slices.Compact(slices.Sorted(slices.Values(i.newest))); len(newest) {
	case 0:
	case 1:
		c.PrintText(newest[0] + " is already the newest.\n")
	default:
		c.PrintText("Already the newest: " + strings.Join(newest, ", ") + ".\n")
	}
	if failed || ctx.Err() != nil { // Run, and the wrap or session that it works for, say that the user stopped it
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
func (i *installCmd) wanted(c terminal.Console, host hostfs.Host, cancel func()) (all []wanted, failed bool, err error) {
	if i.forWrap {
		all, err = i.ofWrap(c, cancel)
		return all, false, err
	}
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
		w, err := i.named(host, name)
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
			i.result.Packages = append(i.result.Packages, installedPackage{Name: name, Error: err.Error()})
			failed = true
		}
	}
	if len(i.servers) == 0 && len(i.Config) == 0 {
		more, err := i.pinned(host, all)
		if err != nil {
			return nil, false, err
		}
		all = append(all, more...)
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
		return wanted{}, terminal.UsageErrorf("there is no command after --. For example:\n  mcp-jail install -- npx -y PACKAGE")
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
		removed, err := store.AcceptTools(session.LockFile(host), name)
		if err != nil {
			return err
		}
		i.result.Packages = append(i.result.Packages, installedPackage{Name: name})
		if removed == nil {
			c.Printf("%s: no tools are pinned\n", show.Line(name))
		}
		for _, key := range removed {
			c.Printf("the pinned tools of %s are removed: the next session pins the tools that it lists\n", show.Line(key.String()))
		}
	}
	return nil
}

// serveSession installs for mcp-jail run, which waits in front of a client. The standard input has
// the policy.Reach of the server. serveSession prints a line of JSON for each step. When the
// standard input ends, the client has left. serveSession then goes on for at most
// session.AfterClient, as long as there is progress. No process reads its output then.
func (i *installCmd) serveSession(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal.Ignore(syscall.SIGPIPE)
	alone := &background{end: cancel}
	reach := &policy.Reach{}
	if err := json.NewDecoder(c.Input()).Decode(reach); err != nil {
		return fmt.Errorf("it is not said where servers may write: %w", err)
	}
	go func() {
		io.Copy(io.Discard, c.Input())
		alone.left()
	}()
	say := sayTo(c)
	line, err := runline.Parse(i.given.Argv)
	var waive []policy.Axis
	if err == nil {
		waive, err = cmdline.ParseWaivers("--waive", i.Waive)
	}
	if err == nil {
		in := &install.Installer{Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Asked: session.AskedLine(waive, i.given.Argv, &line), Own: i.own, Scripts: i.scripts, Untrusted: session.Untrusted(reach, host), Waive: waive}
		in.Waived = func(plan *confine.Plan) { say(session.Message{Waived: session.WaivedGaps(plan)}) }
		in.Note = func(line string) { say(session.Message{Waived: []string{line}}) }
		in.Progress = func(p install.Progress) {
			alone.progress(p)
			say(session.Message{Step: string(p.Step), Files: p.Files, Bytes: p.Bytes})
		}
		var r *install.Result
		if r, err = in.Install(ctx, &line); err == nil {
			say(session.Message{Ready: r.Entry.Name + " " + r.Entry.Version, Bytes: treeSize(host, r.Entry)})
			return nil
		}
	}
	failure := session.Message{Error: strings.TrimSpace(err.Error())}
	errors.As(err, &failure.Gaps)
	say(failure)
	return terminal.ReportedStatus(terminal.Failure)
}

// ofWrap returns the packages that wrap names on the standard input. Its end calls cancel.
func (i *installCmd) ofWrap(c terminal.Console, cancel func()) (all []wanted, err error) {
	var asked []session.Download
	if err := json.NewDecoder(c.Input()).Decode(&asked); err != nil {
		return nil, fmt.Errorf("the packages are missing: %w", err)
	}
	go func() {
		io.Copy(io.Discard, c.Input())
		cancel()
	}()
	for _, d := range asked {
		own := *i
		own.Waive = d.Waive
		w, err := own.typed(d.Argv)
		if err != nil {
			w.load = func() (*session.Target, error) { return nil, err }
		}
		w.name, w.own = d.Name, true
		all = append(all, w)
	}
	return all, nil
}

// sayTo returns a function that prints messages, each as a line of JSON.
func sayTo(c terminal.Console) func(session.Message) {
	return func(m session.Message) {
		if text, err := json.Marshal(m); err == nil {
			c.Printf("%s\n", text)
		}
	}
}
