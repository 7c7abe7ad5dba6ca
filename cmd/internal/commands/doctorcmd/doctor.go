package doctorcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/spf13/cobra"
)

type doctorCmd struct {
	format   string
	apparmor bool
	verbose  bool
}

func Doctor(line *cli.CommandLine) *cobra.Command {
	d := &doctorCmd{}
	cmd := line.Command("doctor [flags]", "Build a jail to test this host, and check the installation.", 0, false, func([]string) error { return d.Run(line.Console) })
	cmd.Long = `Asks the kernel for each feature that jails use, then builds a jail and runs a
program in it. Then it checks the installation, and says of each fault what it is,
what is concerned and what to do:

    copies         of mcp-jail, their versions, and the programs beside each
    path           whether the next shell that you log in to finds mcp-jail
    directories    whether mcp-jail can write in its own, and how much room there is
    programs       node, npm, python, uv, pip and docker, where an entry needs them;
                   on macOS, a git that only asks to install Apple's developer tools
    clients        what their entries name and is gone; what each of them starts
    configuration  errors, with file and line; files of projects that are not trusted
    evidence       on macOS, whether you may read what the system logs of refusals,
                   and whether it has logged those of the self-test

It runs nothing outside of a jail. Versions of mcp-jail are read from its files. Your
login shell says its PATH in a jail, in which it can write nothing.

At the end it says how much is kept of servers: packages, private HOMEs, leftovers
of interrupted work.

On macOS it first makes the self-test of the system's sandbox anew, without which no
server starts. --verbose lists its probes.

Exit status 0: no problem (notes do not count); 1: a problem with what is installed
or with an entry of a client; 2: with the configuration, or with mcp-jail's flags in
an entry; 3: no jail can be built, or mcp-jail cannot write in its state directory.

With --format json, problems is a list of faults: check (a name of the list above),
stops (false for a note), what, of, why, fix, file, line. copies, login, programs
and starts say what was found. New members may be added.

If AppArmor forbids user namespaces (Ubuntu 23.10 and newer), allow them for
mcp-jail alone:

    mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail
    sudo apparmor_parser -r /etc/apparmor.d/mcp-jail`
	cli.AddFlags(cmd, cli.FormatFlag(&d.format))
	cmd.Flags().BoolVar(&d.verbose, "verbose", false, "List all features, and what each is for.")
	cmd.Flags().BoolVar(&d.apparmor, "apparmor", false, "Only print the AppArmor profile that allows this program to create user namespaces.")
	return cmd
}

func (d *doctorCmd) Run(c terminal.Console) error {
	if d.apparmor && runtime.GOOS != "linux" {
		return exit.UsageErrorf("--apparmor is for Linux: this system has no AppArmor, and its jails need no profile of it")
	}
	if d.apparmor {
		return printApparmorProfile(c)
	}
	host, err := hostfs.LocalHost()
	var owner *hostfs.OwnerError
	if errors.As(err, &owner) {
		return err // other errors are part of the report
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	proved := confine.Prove(ctx, true, func(line string) { c.Sayf("%s", line) })
	features := confine.Probe()
	tried, egress := tryJail(), tryEgress()
	var dirs []ownDir
	var all []finding
	if err == nil {
		dirs, all = checkOwnDirs(host)
	}
	i := &installation{}
	if err == nil {
		if i, err = lookInstallation(ctx, host); err == nil {
			all = append(all, i.check()...)
		}
	}
	if err != nil && tried.err == nil {
		all = append(all, finding{Check: "clients", Stops: true, What: "what is installed cannot be told: " + err.Error()})
	}
	all = sortFindings(append(all, checkEvidence(confine.CanAskDenials(), proved.Rows)...))
	if d.format == "json" {
		d.printJSON(c, features, proved, egress, tried, dirs, all, i)
	} else {
		d.report(c, features, egress, tried)
		if text := selfTestText(c, proved, d.verbose); text != "" {
			c.PrintText("\n" + text)
		}
		printFindings(c, all)
		i.print(c)
		lookStored().print(c)
		d.printEnd(c)
	}
	if tried.err != nil || proved.Proof.Failed != nil {
		return exit.ReportedStatus(exit.Host)
	}
	return statusOf(all)
}

func (d *doctorCmd) printJSON(c terminal.Console, features confine.Features, proved confine.SelfTest, egress confine.Feature, tried trial, dirs []ownDir, all []finding, i *installation) {
	out := struct {
		Features any              `json:"features"`
		SelfTest confine.SelfTest `json:"self_test,omitzero"` // macOS: each probe
		Egress   confine.Feature  `json:"egress"`             // allow-lists of hosts
		Requests confine.Feature  `json:"requests"`           // rules about paths, methods and secrets
		Jail     string           `json:"jail"`
		Holds    bool             `json:"holds"`
		Waive    []policy.Axis    `json:"waive,omitempty"` // the axes, or the word of the system, to waive for a jail that can be built
		Gaps     []confine.Gap    `json:"gaps,omitempty"`
		Dirs     []ownDir         `json:"unwritable,omitempty"` // directories of mcp-jail's own
		Kept     storedSizes      `json:"kept"`                 // the sizes on the disk of what is kept of servers
		Problems []finding        `json:"problems"`             // of the installation, those that stop something first
		Copies   []*program       `json:"copies"`               // of mcp-jail
		Login    loginPath        `json:"login"`                // PATH after the next login
		Programs []tool           `json:"programs"`             // that servers need
		Starts   []*start         `json:"starts"`               // by clients
	}{features.Report(), proved, egress, findTLSProgram(), "a program ran in a jail that tested itself", tried.err == nil, nil, tried.gaps, dirs, lookStored(),
		cli.NonNil(all), cli.NonNil(i.copies), i.login, cli.NonNil(i.tools), cli.NonNil(i.starts)}
	if tried.gaps != nil {
		out.Waive = confine.WaiversFor(tried.gaps, nil)
	}
	if tried.err != nil {
		out.Jail = tried.err.Error()
		out.Waive, out.Gaps = tryHostNamespaces(tried.err)
	}
	cli.PrintJSON(c, out)
}

func (d *doctorCmd) printEnd(c terminal.Console) {
	if !d.verbose {
		c.Printf("\n%s\n", c.Paint(terminal.Dim, "--verbose lists all features, and what each is for"))
	}
}
