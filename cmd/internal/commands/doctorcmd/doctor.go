package doctorcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

type doctorCmd struct {
	apparmor bool
	verbose  bool
}

// Doctor returns the command.
func Doctor(line *cli.CommandLine) *cobra.Command {
	d := &doctorCmd{}
	cmd := line.Command("doctor [options]", "Check that jails work on this machine", 0, false, func([]string) error { return d.Run(line.Console) })
	cmd.Long = `Builds a jail and runs a program in it, which tests the jail from inside. On macOS it
first repeats the self-test of the system's sandbox, without which no server starts.
It also looks at mcp-jail's own folders, at the policies, and at your servers' programs.

Exit status 0: all is well (notes do not count); 1: something else FAILs; 3: no jail
can be built.

If AppArmor forbids user namespaces (Ubuntu 23.10 and newer), allow them for mcp-jail
alone:

    mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail
    sudo apparmor_parser -r /etc/apparmor.d/mcp-jail`
	cmd.Flags().BoolVar(&d.verbose, "verbose", false, "Also list the features of this system")
	cmd.Flags().BoolVar(&d.apparmor, "apparmor", false, "Only print a profile for AppArmor")
	return cmd
}

// Run prints a line for each thing that it looks at, and then what to do.
func (d *doctorCmd) Run(c terminal.Console) error {
	if d.apparmor && runtime.GOOS != "linux" {
		return exit.UsageErrorf("--apparmor is for Linux: this system has no AppArmor, and its jails need no profile of it")
	}
	if d.apparmor {
		return printApparmorProfile(c)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	proved := confine.Prove(ctx, true, func(line string) { c.Sayf("%s", line) })
	tried, egress := tryJail(), tryEgress()
	all := append(jailChecks(tried), networkCheck(egress))
	x, err := index.Read()
	if err != nil {
		return err
	}
	all = append(all, folderChecks(x.Host)...)
	all = append(all, policyChecks(x)...)
	all = append(all, programChecks(x)...)
	all = append(all, pathChecks(x.Host)...)
	all = append(all, olderChecks(x)...)
	printChecks(c, all)
	if text := selfTestText(c, proved, d.verbose); text != "" {
		c.PrintText("\n" + text)
	}
	if d.verbose {
		c.PrintText("\n" + featuresText(egress, c.TextColumns()))
	}
	switch {
	case tried.err != nil, proved.Failed != nil:
		return exit.ReportedStatus(exit.Host)
	case slices.ContainsFunc(all, func(k check) bool { return k.mark == fails }):
		return exit.ReportedStatus(exit.Failure)
	}
	c.Printf("\nYour servers can run in a jail on this machine.\n")
	return nil
}

// A check is one thing that doctor looked at, and what to do about it.
type check struct {
	mark, subject, text string
	advice              []advice
}

type advice struct{ say, command string }

// The marks of checks. A note is no fault.
const (
	well  = "ok"
	fails = "FAIL"
	note  = "note"
)

func printChecks(c terminal.Console, all []check) {
	colours := map[string]string{well: terminal.Green, fails: terminal.Red, note: terminal.Yellow}
	for _, k := range all {
		first := fmt.Sprintf("%-4s  %-7s  ", k.mark, k.subject)
		text := terminal.ShortHome(elsewhere.Replace(k.text), os.Getenv("HOME"))
		for line := range strings.SplitSeq(text, "\n") {
			folded := terminal.Hang(first, strings.Repeat(" ", 15), strings.TrimSpace(line), c.TextColumns())
			if rest, cut := strings.CutPrefix(folded, k.mark); cut {
				folded = c.Paint(colours[k.mark], k.mark) + rest
			}
			c.Printf("%s\n", folded)
			first = strings.Repeat(" ", 15)
		}
	}
	gap := "\n"
	for _, k := range all {
		for _, a := range k.advice {
			c.Printf("%s%s\n", gap, terminal.Hang("", "", elsewhere.Replace(a.say), c.TextColumns()))
			if gap = ""; a.command != "" {
				c.Printf("  %s\n", a.command)
			}
		}
	}
}
