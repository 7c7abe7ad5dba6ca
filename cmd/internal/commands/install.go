package commands

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type installCmd struct {
	servers     []string
	argv        []string // a launcher's line behind --
	scripts     bool
	update      bool
	repair      bool
	acceptTools bool
	yes         bool
	forSession  bool
}

func (x *front) install() *cobra.Command {
	i := &installCmd{}
	cmd := x.command("install [flags] [SERVER...]", "Fetch and pin the packages of servers.", 1000, true, func(args []string) error {
		i.servers, i.argv = args, x.server.Argv
		return i.Run(x.console)
	})
	cmd.Long = `SERVER is a server of the configuration that npx, uvx or the like starts. A line
of these may also stand behind --. Without both, all such servers are installed.

npm, or the installer of the line, fetches the package in a jail that reaches the
registry of your configuration and nothing else. Scripts of packages do not run.
The package and all that it needs are pinned in mcp-jail.lock, beside your
configuration. From then on the server starts without a launcher and without a
network, from files that it cannot change.`
	cmd.Example = `    mcp-jail install
    mcp-jail install github
    mcp-jail install -- npx -y @modelcontextprotocol/server-memory
    mcp-jail install --update`
	f := cmd.Flags()
	f.BoolVar(&i.update, "update", false, "Fetch the newest version, show what it changes, and ask.")
	f.BoolVar(&i.repair, "repair", false, "Install the pinned version again, in place of files that differ.")
	f.BoolVar(&i.acceptTools, "accept-tools", false, "Pin the tools that a server lists now. SERVER may also be the name of its package.")
	f.BoolVar(&i.yes, "yes", false, "Accept updates without asking, for scripts.")
	f.BoolVar(&i.scripts, "install-scripts", false, "Run the scripts that packages bring for their installation, in a jail without a network.")
	f.BoolVar(&i.forSession, "for-session", false, "")
	f.MarkHidden("for-session") // mcp-jail run asks with it
	return cmd
}

// wanted is one package to install.
type wanted struct {
	name    string // of the server, or the package
	line    launcher.Line
	scripts bool
}

// Run installs one package after the other. Of several, one that fails does not hold up the
// others.
func (i *installCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	switch {
	case i.forSession:
		return i.serveSession(ctx, c, host)
	case i.acceptTools:
		return i.acceptAll(c, host)
	}
	all, err := i.wanted()
	if err != nil {
		return err
	}
	failed := false
	for _, w := range all {
		if err := i.one(ctx, c, host, w); err != nil {
			c.Errorf("%s: %s", w.name, terminal.PrintableLines(err.Error()))
			failed = true
		}
		if ctx.Err() != nil {
			return errors.New("interrupted: what was fetched is kept, and mcp-jail install continues with it")
		}
	}
	if failed {
		return target.ReportedStatus(target.ExitFailure)
	}
	return nil
}

// wanted returns the packages that the command line names.
func (i *installCmd) wanted() (all []wanted, err error) {
	if i.argv != nil {
		line, err := launcher.Parse(i.argv)
		if err != nil {
			return nil, target.UsageErrorf("%s", err)
		}
		all = append(all, wanted{line.Display(), line, i.scripts})
		if len(i.servers) == 0 {
			return all, nil
		}
	}
	cfg, err := config.Load(config.LoadOptions{})
	if err != nil {
		return nil, err
	}
	names := i.servers
	if len(names) == 0 {
		names = cfg.ServerNames()
	}
	for _, name := range names {
		p, err := cfg.Policy(name, "")
		if err != nil {
			return nil, err
		}
		line, err := launcher.Parse(append([]string{p.Command}, p.Arguments...))
		switch {
		case err == nil:
			all = append(all, wanted{name, line, i.scripts || p.Packages.InstallScripts})
		case len(i.servers) > 0:
			return nil, target.UsageErrorf("server %s: %s", name, err)
		}
	}
	if len(all) == 0 {
		return nil, target.UsageErrorf("no configured server is started by npx, uvx or the like. A line can stand behind --:\n  mcp-jail install -- npx -y PACKAGE")
	}
	return all, nil
}

// one installs, updates or repairs one package.
func (i *installCmd) one(ctx context.Context, c terminal.Console, host hostfs.Host, w wanted) error {
	bar := newInstallBar(c.Err, w.name)
	defer bar.Finish()
	in := &install.Installer{Store: target.PackageStore(host), LockFile: target.LockFile(host), Host: host, Scripts: w.scripts, Progress: bar.show}
	if i.update {
		return i.updateOne(ctx, c, in, bar, w)
	}
	do := in.Install
	if i.repair {
		do = in.Repair
	}
	r, err := do(ctx, &w.line)
	bar.Finish()
	if r != nil {
		for _, refused := range r.Refused {
			c.Printf("  %s\n", terminal.Printable(refused.String()))
		}
	}
	if err != nil {
		return err
	}
	what := "ready"
	if !r.Fetched {
		what = "ready already"
	}
	c.Printf("%s: %s %s, %d packages, %.1f MB\n", what, r.Entry.Name, r.Entry.Version, len(r.Entry.Packages), float64(treeSize(host, r.Entry))/1e6)
	for _, name := range r.Skipped {
		c.Printf("  the script that %s brings for its installation did not run (--install-scripts runs it)\n", terminal.Printable(name))
	}
	return nil
}

// updateOne fetches the newest version of a package, shows what it changes, and asks.
func (i *installCmd) updateOne(ctx context.Context, c terminal.Console, in *install.Installer, bar installBar, w wanted) error {
	u, err := in.Update(ctx, &w.line)
	bar.Finish()
	if err != nil {
		return err
	}
	defer u.Close()
	changes := u.Changes()
	if u.Old != nil && len(changes) == 0 {
		c.Printf("%s %s is the newest already\n", u.Old.Name, u.Old.Version)
		return nil
	}
	c.Printf("%s\n", c.Paint(terminal.Bold, u.New.Name+" "+u.New.Version))
	for _, change := range changes {
		c.Printf("  %s\n", terminal.Printable(change.Text))
	}
	for _, s := range u.Signals {
		c.Printf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), terminal.Printable(s.String()))
	}
	for _, name := range u.Scripts {
		c.Printf("  %s brings a script for its installation\n", terminal.Printable(name))
	}
	for _, refused := range u.Refused {
		c.Printf("  %s\n", terminal.Printable(refused.String()))
	}
	if !i.yes {
		if err := confirm(c, "Use "+u.New.Name+" "+u.New.Version+" from now on?"); err != nil {
			return err
		}
	}
	if err := in.Accept(u); err != nil {
		return err
	}
	c.Printf("ready: %s %s\n", u.New.Name, u.New.Version)
	return nil
}

// acceptAll pins the tools that servers list now.
func (i *installCmd) acceptAll(c terminal.Console, host hostfs.Host) error {
	names := i.servers
	if i.argv != nil {
		return target.UsageErrorf("--accept-tools takes names, no command behind --")
	}
	if len(names) == 0 {
		return target.UsageErrorf("name a server or package whose tools you accept: mcp-jail install --accept-tools NAME")
	}
	cfg, _ := config.Load(config.LoadOptions{}) // a package's name needs no configuration
	for _, name := range names {
		if p, err := cfg.Policy(name, ""); cfg != nil && err == nil {
			if line, err := launcher.Parse(append([]string{p.Command}, p.Arguments...)); err == nil {
				name = line.Packages[0].Name
			}
		}
		changes, err := target.AcceptTools(host, name)
		if err != nil {
			return err
		}
		c.Printf("the tools of %s are pinned as they are now\n", name)
		for _, change := range changes {
			c.Printf("  %s\n", terminal.Printable(change))
		}
	}
	return nil
}

// installBar shows the progress of an installation on a terminal.
type installBar struct{ *progressbar.ProgressBar }

func newInstallBar(to *os.File, name string) installBar {
	return installBar{progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(to), progressbar.OptionSetVisibility(terminal.IsTerminal(to)),
		progressbar.OptionSetDescription("fetching "+name), progressbar.OptionShowBytes(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14))}
}

func (b installBar) show(p install.Progress) {
	if p.Bytes > 0 {
		b.Set64(p.Bytes)
	}
}

// serveSession installs for mcp-jail run, which waits in front of a client. It prints a line of
// JSON for each step. When its standard input ends, the client has left: it goes on for
// target.AfterClient then, and no process reads its output.
func (i *installCmd) serveSession(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		io.Copy(io.Discard, c.In)
		time.AfterFunc(target.AfterClient, cancel)
	}()
	say := func(m target.InstallMessage) {
		if text, err := json.Marshal(m); err == nil {
			c.Printf("%s\n", text)
		}
	}
	line, err := launcher.Parse(i.argv)
	if err == nil {
		in := &install.Installer{Store: target.PackageStore(host), LockFile: target.LockFile(host), Host: host, Scripts: i.scripts}
		in.Progress = func(p install.Progress) {
			say(target.InstallMessage{Step: string(p.Step), Files: p.Files, Bytes: p.Bytes})
		}
		var r *install.Result
		if r, err = in.Install(ctx, &line); err == nil {
			say(target.InstallMessage{Ready: r.Entry.Name + "@" + r.Entry.Version})
			return nil
		}
	}
	say(target.InstallMessage{Error: strings.TrimSpace(err.Error())})
	return target.ReportedStatus(target.ExitFailure)
}

// treeSize returns the bytes of an installed tree, 0 if it cannot be found.
func treeSize(host hostfs.Host, e *lockfile.Entry) int64 {
	trees, _ := target.PackageStore(host).Trees()
	for _, t := range trees {
		if t.ID == installed.ID(e) {
			return t.Bytes
		}
	}
	return 0
}
