package commands

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

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
	servers    []string
	argv       []string // a launcher's line behind --
	scripts    bool
	forSession bool
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
    mcp-jail install -- npx -y @modelcontextprotocol/server-memory`
	cmd.Flags().BoolVar(&i.scripts, "install-scripts", false, "Run the scripts that packages bring for their installation, in a jail without a network.")
	cmd.Flags().BoolVar(&i.forSession, "for-session", false, "")
	cmd.Flags().MarkHidden("for-session") // mcp-jail run asks with it
	return cmd
}

// wanted is one package to install.
type wanted struct {
	name    string // of the server, or the package
	line    launcher.Line
	scripts bool
}

// Run installs one package after the other. It stops at the first that fails only if the user
// interrupts it.
func (i *installCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if i.forSession {
		return i.serveSession(ctx, c, host)
	}
	all, err := i.wanted(c, host)
	if err != nil {
		return err
	}
	failed := false
	for _, w := range all {
		if err := w.install(ctx, c, host); err != nil {
			c.Errorf("%s: %s", w.name, err)
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
func (i *installCmd) wanted(c terminal.Console, host hostfs.Host) (all []wanted, err error) {
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

// install installs one package, with a progress bar.
func (w wanted) install(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	bar := newInstallBar(c.Err, w.name)
	r, err := installer(host, w.scripts, bar.show).Install(ctx, &w.line)
	bar.Finish()
	if err != nil {
		return err
	}
	what := "ready"
	if !r.Fetched {
		what = "ready already"
	}
	size := treeSize(host, r.Entry)
	c.Printf("%s: %s %s, %d packages, %.1f MB\n", what, r.Entry.Name, r.Entry.Version, len(r.Entry.Packages), float64(size)/1e6)
	for _, name := range r.Skipped {
		c.Printf("  %s has a script for its installation, which did not run (install_scripts = true runs it)\n", name)
	}
	for _, d := range r.Refused {
		c.Printf("  refused during the installation: %s %s\n", d.Operation, terminal.Printable(d.Target))
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
// JSON for each step, and ends when its standard input does.
func (i *installCmd) serveSession(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		io.Copy(io.Discard, c.In)
		cancel()
	}()
	say := func(m target.InstallMessage) {
		if text, err := json.Marshal(m); err == nil {
			c.Printf("%s\n", text)
		}
	}
	line, err := launcher.Parse(i.argv)
	if err == nil {
		var r *install.Result
		r, err = installer(host, i.scripts, func(p install.Progress) {
			say(target.InstallMessage{Step: string(p.Step), Files: p.Files, Bytes: p.Bytes})
		}).Install(ctx, &line)
		if err == nil {
			say(target.InstallMessage{Ready: r.Entry.Name + "@" + r.Entry.Version})
			return nil
		}
	}
	say(target.InstallMessage{Error: err.Error()})
	return target.ReportedStatus(target.ExitFailure)
}

// installer returns the installer of this user.
func installer(host hostfs.Host, scripts bool, progress func(install.Progress)) *install.Installer {
	return &install.Installer{Store: target.PackageStore(host), LockFile: target.LockFile(host), Host: host, Scripts: scripts, Progress: progress}
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
