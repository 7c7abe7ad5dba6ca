package doctorcmd

import (
	"context"
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
	cmd := line.Command("doctor [flags]", "Build a jail to test this host.", 0, false, func([]string) error { return d.Run(line.Console) })
	cmd.Long = `Asks the kernel for each feature that jails use, then builds a jail and runs a
program in it. It also looks for mcp-jail-tls, which rules about requests need, and
for files of another user in mcp-jail's own directories, as after a command with sudo.

On macOS it first makes the self-test of the system's sandbox anew, without which no
server starts. --verbose lists its probes. It says whether you may read what the
system logs of refusals, and whether it has logged those of the self-test.

Exit status 0: no problem (notes do not count); 1: a file of another user; 3: no
jail can be built.

With --format json, problems is a list of faults: stops (false for a note), what,
why, fix, file. New members may be added.

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
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	proved := confine.Prove(ctx, true, func(line string) { c.Sayf("%s", line) })
	features := confine.Probe()
	tried, egress := tryJail(), tryEgress()
	all := checkOwners(host)
	if d.format == "json" {
		d.printJSON(c, features, proved, egress, tried, all)
	} else {
		d.report(c, features, egress, tried)
		if text := selfTestText(c, proved, d.verbose); text != "" {
			c.PrintText("\n" + text)
		}
		printFindings(c, all)
		d.printEnd(c)
	}
	if tried.err != nil || proved.Failed != nil {
		return exit.ReportedStatus(exit.Host)
	}
	if stops(all) {
		return exit.ReportedStatus(exit.Failure)
	}
	return nil
}

func (d *doctorCmd) printJSON(c terminal.Console, features confine.Features, proved confine.SelfTest, egress confine.Feature, tried trial, all []finding) {
	out := struct {
		Features any              `json:"features"`
		SelfTest confine.SelfTest `json:"self_test,omitzero"` // macOS: each probe
		Egress   confine.Feature  `json:"egress"`             // allow-lists of hosts
		Requests confine.Feature  `json:"requests"`           // rules about paths, methods and secrets
		Jail     string           `json:"jail"`
		Holds    bool             `json:"holds"`
		Waive    []policy.Axis    `json:"waive,omitempty"` // the axes, or the word of the system, to waive for a jail that can be built
		Gaps     []confine.Gap    `json:"gaps,omitempty"`
		Problems []finding        `json:"problems"`
	}{features.Report(), proved, egress, findTLSProgram(), "a program ran in a jail that tested itself", tried.err == nil, nil, tried.gaps, cli.NonNil(all)}
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
