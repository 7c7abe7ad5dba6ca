package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
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
	cmd := line.Command("doctor [flags]", "Show which kernel features jails can use here, and build a jail to test them.", 0, false, func([]string) error { return d.Run(line.Console) })
	cmd.Long = `Asks the kernel for each feature that jails use, then builds a jail and runs a
program in it. The exit status is 3 if that fails, or if mcp-jail cannot write
in its state directory. At the end it says how much is kept of servers:
packages, private HOMEs, leftovers of interrupted work.

If AppArmor forbids user namespaces (Ubuntu 23.10 and newer), allow them for
mcp-jail alone:

    mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail
    sudo apparmor_parser -r /etc/apparmor.d/mcp-jail`
	cli.AddFlags(cmd, cli.FormatFlag(&d.format))
	cmd.Flags().BoolVar(&d.verbose, "verbose", false, "List all features, and what each is for.")
	cmd.Flags().BoolVar(&d.apparmor, "apparmor", false, "Only print the AppArmor profile that allows this program to create user namespaces.")
	return cmd
}

// featurePurposes has the purpose of each feature: those of confine.Features.List in its order,
// then those that doctor tries itself.
var featurePurposes = map[string]string{
	"landlock":       "second wall: files, signals, abstract sockets",
	"seccomp":        "filter of system calls",
	"seccomp_notify": "a supervisor that system calls can be handed to",
	"seccomp_tsync":  "one filter for all threads",
	"userns":         "first wall: namespaces without root",
	"mount_api":      "mounts by descriptor",
	"fresh_proc":     "a /proc of the jail's own",
	"ptrace_scope":   "the supervisor may read the arguments of calls",
	"pid_max":        "limit of processes for root",
	"pidfd_getfd":    "granted hosts where there are no namespaces",
	"cgroup":         "limits that the kernel holds; without it the supervisor does",
	"overlay":        "what the server keeps, in the HOME of each call",
	"egress":         "granted hosts and no others",
	"requests":       "of granted hosts: paths, methods, secrets",
}

// optionalFeatures are the features without which a jail still enforces what it claims.
var optionalFeatures = map[string]bool{"seccomp_notify": true, "fresh_proc": true, "ptrace_scope": true, "pid_max": true, "pidfd_getfd": true, "cgroup": true, "overlay": true, "egress": true, "requests": true}

func (d *doctorCmd) Run(c terminal.Console) error {
	if d.apparmor {
		return printApparmorProfile(c)
	}
	var owner *hostfs.OwnerError
	if _, err := hostfs.LocalHost(); errors.As(err, &owner) {
		return err // other errors are part of the report
	}
	features := confine.Probe()
	trial, egress := session.TryJail(confine.Launcher{}), tryEgress()
	dirs, needed := tryOwnDirs()
	if d.format == "json" {
		out := struct {
			Features confine.Features `json:"features"`
			Egress   confine.Feature  `json:"egress"`   // allow-lists of hosts
			Requests confine.Feature  `json:"requests"` // rules about paths, methods and secrets
			Jail     string           `json:"jail"`
			Holds    bool             `json:"holds"`
			Waive    []policy.Axis    `json:"waive,omitempty"` // the axes to waive for a jail without namespaces
			Gaps     []confine.Gap    `json:"gaps,omitempty"`
			Dirs     []ownDir         `json:"unwritable,omitempty"` // directories of mcp-jail's own
			Kept     storedSizes      `json:"kept"`                 // the sizes on the disk of what is kept of servers
		}{features, egress, findTLSProgram(), "a program ran in a jail that tested itself", trial == nil, nil, nil, dirs, lookStored()}
		if trial != nil {
			out.Jail = trial.Error()
			out.Waive, out.Gaps = tryHostNamespaces(trial)
		}
		cli.PrintJSON(c, out)
	} else {
		d.report(c, features, egress, trial)
		printOwnDirs(c, dirs)
		lookStored().print(c)
	}
	if trial != nil || needed {
		return exit.ReportedStatus(exit.Host)
	}
	return nil
}

func (d *doctorCmd) report(c terminal.Console, features confine.Features, egress confine.Feature, trial error) {
	c.Printf("%s %s %s, user %d\n\n", features.OS, features.Kernel, features.Arch, os.Getuid())
	lines := append(features.List(), confine.NamedFeature{Name: "egress", Feature: egress}, confine.NamedFeature{Name: "requests", Feature: findTLSProgram()})
	switch axes, _ := tryHostNamespaces(trial); {
	case trial == nil:
		c.PrintText(c.Paint(terminal.Green, "this host can enforce the default policy") + ": a program ran in a jail that tested itself from inside\n")
	default:
		c.PrintText(c.Paint(terminal.Red, "no jail can be built here that holds the default policy:") + "\n" + trial.Error() + "\n")
		if axes != nil {
			c.PrintText("\n" + c.Paint(terminal.Yellow, "a jail without namespaces, which holds the rest, can be built") + ": a program ran in it, which tested itself from inside\n")
		}
	}
	if table := featureTable(lines, d.verbose); table != "" {
		c.PrintText("\n" + table)
	}
	for _, f := range lines {
		if f.Answer == confine.No && f.Fix != "" && (d.verbose || f.Name != "cgroup") {
			c.PrintText("\n" + f.Name + ": " + f.Fix + "\n")
		}
	}
	if !d.verbose {
		c.Printf("\n%s\n", c.Paint(terminal.Dim, "--verbose lists all features, and what each is for"))
	}
}

// featureTable returns a line for each feature. Without all, it leaves out the features that the
// host has.
func featureTable(features []confine.NamedFeature, all bool) string {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, f := range features {
		if f.Answer == confine.Yes && !all {
			continue
		}
		mark := map[confine.Answer]string{confine.Yes: "yes", confine.No: "no", confine.Unknown: "?"}[f.Answer]
		purpose := featurePurposes[f.Name]
		if f.Answer != confine.Yes && optionalFeatures[f.Name] {
			mark, purpose = "-", "optional: "+purpose
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", mark, f.Name, purpose, f.Detail)
	}
	w.Flush()
	return table.String()
}

// tryHostNamespaces tries a jail without namespaces after one with namespaces was refused. It
// returns the axes to waive for it, and the gaps of the refusal. The axes are nil if that jail
// cannot be built either. Both are nil if user namespaces were not the reason.
func tryHostNamespaces(refused error) ([]policy.Axis, []confine.Gap) {
	var gaps *confine.GapError
	if !errors.As(refused, &gaps) || gaps.HostNamespaces.Answer != confine.No {
		return nil, nil
	}
	if gaps.Waive == nil || session.TryJail(confine.Launcher{Waive: gaps.Waive}) != nil {
		return nil, gaps.Gaps
	}
	return gaps.Waive, gaps.Gaps
}

// tryEgress reports whether a program can be started with a granted host. The program does not
// connect to the host.
func tryEgress() confine.Feature {
	err := session.TryJail(confine.Launcher{}, "example.org")
	var gaps *confine.GapError
	switch {
	case err == nil:
		return confine.Feature{Answer: confine.Yes, Detail: "sockets handed out of the jail"}
	case errors.As(err, &gaps):
		for _, g := range gaps.Gaps {
			if g.Axis == policy.AxisNet {
				return confine.Feature{Answer: confine.No, Detail: g.Why}
			}
		}
		if gaps.HostNamespaces.Answer == confine.No && gaps.Waive != nil && session.TryJail(confine.Launcher{Waive: gaps.Waive}, "example.org") == nil {
			return confine.Feature{Answer: confine.Yes, Detail: "sockets made by a supervisor"}
		}
	}
	return confine.Feature{Answer: confine.No, Detail: "no jail can be built"}
}

// findTLSProgram looks for mcp-jail-tls as a start does. It assumes a server that may write
// nothing.
func findTLSProgram() confine.Feature {
	self, _ := os.Executable()
	program, err := tlsworker.Find(self, os.Getenv("PATH"), func(string, policy.Rights) (policy.Writer, bool) { return policy.Writer{}, false })
	switch {
	case errors.Is(err, tlsworker.ErrMissing):
		return confine.Feature{Answer: confine.No, Detail: tlsworker.ErrMissing.Error(), Fix: "install mcp-jail-tls beside mcp-jail, from the same build"}
	case err != nil:
		return confine.Feature{Answer: confine.No, Detail: err.Error()}
	}
	return confine.Feature{Answer: confine.Yes, Detail: program}
}

// ownDir is a directory of mcp-jail's own in which it cannot write.
type ownDir struct {
	Dir      string `json:"dir"`
	Variable string `json:"variable"` // that names another place
	Error    string `json:"error"`
	without  string
}

// tryOwnDirs tries to write in mcp-jail's own directories, and returns those where that fails.
// needed reports that servers do not start for the lack of one.
func tryOwnDirs() (failed []ownDir, needed bool) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, false // the trial of a jail says so
	}
	for _, d := range []ownDir{
		{host.StateDir, "XDG_STATE_HOME", "", "a server with a private HOME does not start, and no session has a record"},
		{host.DataDir, "XDG_DATA_HOME", "", "no package can be installed"},
		{host.CacheDir, "XDG_CACHE_HOME", "", "each start does again what could be remembered"},
	} {
		if err := tryWrite(d.Dir); err != nil {
			d.Error = err.Error()
			failed, needed = append(failed, d), needed || d.Dir == host.StateDir
		}
	}
	return failed, needed
}

// tryWrite makes a directory in another, or where that would be made, and removes it.
func tryWrite(dir string) error {
	way, err := hostfs.NewLinkResolver(hostfs.OwnerHost()).PrivateWay(dir, ".")
	if err != nil {
		return err
	}
	d, err := private.Open(way.At, ".")
	if err != nil {
		return err
	}
	defer d.Close()
	temp, err := d.MakeTemp()
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // without the name, which is not the user's concern
		return fmt.Errorf("no directory can be made in %s: %w", way.At, at.Err)
	case err != nil:
		return err
	}
	return d.Remove(temp)
}

func printOwnDirs(c terminal.Console, failed []ownDir) {
	for _, d := range failed {
		c.PrintText("\n" + c.Paint(terminal.Yellow, "mcp-jail cannot write in "+show.Line(d.Dir)) + ": " + show.Line(d.Error) + ". So " + d.without + ". " + d.Variable + " names another place\n")
	}
}

// storedSizes is how much mcp-jail keeps of the user's servers.
type storedSizes struct {
	Packages  storedSize `json:"packages"`
	Homes     storedSize `json:"homes"`     // private HOMEs
	Leftovers storedSize `json:"leftovers"` // of interrupted installations and removals
	Error     string     `json:"error,omitempty"`
}

type storedSize struct {
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	Dir   string `json:"dir,omitempty"`
}

func lookStored() (sizes storedSizes) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return storedSizes{Error: err.Error()}
	}
	all, err := stored.Look(host)
	if err != nil {
		return storedSizes{Error: err.Error()}
	}
	sizes.Packages.Dir, sizes.Homes.Dir = session.PackageStore(host).Dir, stored.ServersDir(host)
	for _, t := range all.Trees() {
		sizes.Packages.add(t.Bytes)
	}
	for _, s := range all.Servers {
		for _, h := range s.Homes {
			sizes.Homes.add(h.Bytes)
		}
	}
	for _, l := range all.Leftovers {
		if l.Bytes > 0 {
			sizes.Leftovers.add(l.Bytes)
		}
	}
	return sizes
}

func (s *storedSize) add(bytes int64) {
	s.Count++
	s.Bytes += bytes
}

func (s storedSizes) print(c terminal.Console) {
	if s.Error != "" {
		c.Printf("\nwhat is kept of servers cannot be told: %s\n", show.Lines(s.Error))
		return
	}
	line := func(what string, size storedSize) {
		if size.Count == 0 {
			return
		}
		where := ""
		if size.Dir != "" {
			where = "  " + size.Dir
		}
		c.Printf("%s\n", show.Line(fmt.Sprintf("%-14s %4d  %8s%s", what, size.Count, cli.SizeText(size.Bytes), where)))
	}
	if s.Packages.Count+s.Homes.Count+s.Leftovers.Count > 0 {
		c.Printf("\nkept of servers (mcp-jail list):\n")
	}
	line("packages", s.Packages)
	line("private HOMEs", s.Homes)
	line("leftovers", s.Leftovers)
}
