package pkgcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type rmCmd struct {
	servers []string
	unused  time.Duration
	all     bool
	yes     bool
	format  string
}

func Rm(line *cli.CommandLine) *cobra.Command {
	r := &rmCmd{}
	cmd := line.Command("rm [flags] [NAME...]", "Remove what is kept of a server: its data, its records, its pin, its package.", cli.AnyNumber, false, func(args []string) error {
		r.servers = args
		return r.Run(line.Console)
	})
	cmd.Long = `NAME is a server as ` + "`mcp-jail list`" + ` shows it: its name, the beginning of its name,
or its package. In the directory of a project, the name of the project's own
server means that one, and elsewhere yours. rm shows what it is about to remove,
with sizes, and asks.

    the private HOME   what the server has written for itself: its own data, which
                       nothing brings back
    the records        of its sessions, which ` + "`mcp-jail why`" + ` shows, and what undo keeps:
                       mcp-jail undo cannot put back anything afterwards
    the pin            its section of mcp-jail.lock, if no other server uses it
    the package        its files, if no other pin names them

The configuration stays as it is. A server that runs is not removed.

--unused removes the servers that no client has started for so long. It also
removes packages that no pin names, such as those before an update, and what
interrupted installations have left. --all removes all of that, for all servers.

With --format json, rm does not ask. Without --yes it only tells what it would
remove: an object with servers and leftovers as in ` + "`mcp-jail list`" + `, and

    pins       in mcp-jail.lock: ecosystem, name, version, spec
    packages   their files: ecosystem, name, version, bytes, path
    stays      sentences about what is not removed, and why
    bytes      of all that is or would be removed
    removed    whether it was removed`
	cmd.Example = `    mcp-jail rm server-memory
    mcp-jail rm --unused 30d
    mcp-jail rm --unused 30d --format json
    mcp-jail rm --all`
	f := cmd.Flags()
	f.Var(ageFlag{&r.unused}, "unused", "Remove what was not used for so long, in hours, days or weeks: 12h, 30d, 8w.")
	cli.Propose(cmd, "unused", cobra.NoFileCompletions)
	f.BoolVar(&r.all, "all", false, "Remove what is kept of every server, and all packages.")
	f.BoolVar(&r.yes, "yes", false, "Remove without asking, for scripts.")
	cli.AddFlags(cmd, cli.FormatFlag(&r.format))
	cmd.ValidArgsFunction = proposeStored
	return cmd
}

// Run shows what is to be removed, asks, and removes it.
func (r *rmCmd) Run(c terminal.Console) error {
	switch {
	case r.all && (r.unused > 0 || len(r.servers) > 0):
		return exit.UsageErrorf("--all removes everything; leave the other choice out")
	case !r.all && r.unused == 0 && len(r.servers) == 0:
		return exit.UsageErrorf("name a server, or what was not used for long\n  mcp-jail rm NAME\n  mcp-jail rm --unused 30d\n  mcp-jail rm --all\n  `mcp-jail list` shows all servers")
	case r.unused > 0 && len(r.servers) > 0:
		return exit.UsageErrorf("--unused chooses the servers itself; leave %s out", r.servers[0])
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	all, err := stored.Look(host)
	if err != nil {
		return err
	}
	removal, err := r.removal(host, all)
	if err != nil {
		return err
	}
	if r.format == "json" {
		return r.runJSON(c, removal)
	}
	if removal.Empty() {
		for _, text := range removal.Stays {
			c.Printf("%s\n", show.Line(text))
		}
		c.Printf("nothing to remove\n")
		return nil
	}
	showRemoval(c, host, removal)
	if !r.yes {
		question := "Remove this, " + cli.SizeText(removal.Bytes()) + "?"
		// Packages and records come back or are no loss; this does not.
		if files, bytes := removal.Data(); files > 0 {
			question += fmt.Sprintf(" Nothing brings the servers' own data back (%s, %s).", cli.Plural(files, "file"), cli.SizeText(bytes))
		}
		if err := cli.Confirm(context.Background(), c, question); err != nil {
			return err
		}
	}
	if err := removal.Do(); err != nil {
		return err
	}
	c.Printf("removed: %s\n", cli.SizeText(removal.Bytes()))
	return nil
}

func (r *rmCmd) removal(host hostfs.Host, all *stored.All) (*stored.Removal, error) {
	if r.all || r.unused > 0 {
		removal, err := all.Unused(r.unused)
		for _, s := range all.Servers {
			if r.all && err == nil && s.Running {
				removal.Stays = append(removal.Stays, show.Name(cmp.Or(s.About.Name, s.Name))+" stays: it runs")
			}
		}
		return removal, err
	}
	x, err := index.Read()
	if err != nil {
		return nil, err
	}
	var servers []*stored.Server
	for _, name := range r.servers {
		of, err := x.Pick(name, func(s *index.Server) bool { return s.Kept != nil })
		if err != nil {
			return nil, err
		}
		s := all.Server(of.Key)
		if s == nil {
			return nil, fmt.Errorf("nothing is kept of %s", of.Title())
		}
		if !slices.Contains(servers, s) {
			servers = append(servers, s)
		}
	}
	return all.Removal(servers)
}

func showRemoval(c terminal.Console, host hostfs.Host, removal *stored.Removal) {
	line := func(size int64, format string, args ...any) {
		c.Printf("  %8s  %s\n", cli.SizeText(size), show.Line(fmt.Sprintf(format, args...)))
	}
	for _, s := range removal.Servers {
		c.Printf("%s%s, used %s\n", c.Paint(terminal.Bold, show.Name(cmp.Or(s.About.Name, s.Name))), ofPlace(s), cli.AgoText(time.Now(), s.Used))
		if len(s.About.Command) > 0 {
			c.Printf("  %8s  %s\n", "", cli.Clip(shown.Line(s.About.Command), 80))
		}
		for _, h := range s.Homes {
			c.Printf("  %8s  %s, %s: %s\n", cli.SizeText(h.Bytes), c.Paint(terminal.Yellow, "its own data"), cli.Plural(h.Files, "file"), show.Line(cli.ShortPath(h.Path, host.Home)))
		}
		if s.Records > 0 {
			line(s.Records, "records of its sessions, and what undo keeps")
		}
	}
	for _, e := range removal.Pins {
		c.Printf("  %8s  %s\n", "", show.Line(fmt.Sprintf("the pin of %s %s in %s", e.Spec, e.Version, cli.ShortPath(session.LockFile(host), host.Home))))
	}
	for _, t := range removal.Trees {
		line(t.Bytes, "the package %s: %s", t.ID, cli.ShortPath(t.Path(), host.Home))
	}
	for _, l := range removal.Leftovers {
		line(l.Bytes, "left by interrupted work: %s", cli.ShortPath(l.Path, host.Home))
	}
	for _, text := range removal.Stays {
		c.Printf("%s\n", show.Line(text))
	}
}

func ofPlace(s *stored.Server) string {
	if s.About.Project != "" {
		return ", a server of the project of " + show.Line(s.About.Project)
	}
	return ""
}

// removalList is the output of rm --format json.
type removalList struct {
	Servers   []storedServer   `json:"servers"`
	Pins      []serverPackage  `json:"pins"`
	Packages  []storedPackage  `json:"packages"`
	Leftovers []storedLeftover `json:"leftovers"`
	Stays     []string         `json:"stays,omitempty"`
	Bytes     int64            `json:"bytes"`
	Removed   bool             `json:"removed"`
}

func (r *rmCmd) runJSON(c terminal.Console, removal *stored.Removal) error {
	out := removalList{
		Servers: []storedServer{}, Pins: []serverPackage{}, Packages: packagesOf(removal.Trees), Leftovers: leftoversOf(removal.Leftovers),
		Stays: removal.Stays, Bytes: removal.Bytes(),
	}
	for _, s := range removal.Servers {
		out.Servers = append(out.Servers, serverOf(s))
	}
	for _, e := range removal.Pins {
		out.Pins = append(out.Pins, serverPackage{string(e.Ecosystem), e.Name, e.Version, e.Spec, true})
	}
	if r.yes && !removal.Empty() {
		if err := removal.Do(); err != nil {
			return err
		}
		out.Removed = true
	}
	cli.PrintJSON(c, out)
	return nil
}

// ageFlag is a flag whose value is an age, in hours, days or weeks.
type ageFlag struct{ value *time.Duration }

func (f ageFlag) String() string { return "" }

func (f ageFlag) Type() string { return "30d" }

func (f ageFlag) Set(text string) error {
	units := map[byte]time.Duration{'h': time.Hour, 'd': cli.Day, 'w': 7 * cli.Day}
	bad := fmt.Errorf("invalid argument %q for flag --unused; write an age in hours, days or weeks, like 12h, 30d or 8w", text)
	if text == "" {
		return bad
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	unit := units[text[len(text)-1]]
	if err != nil || n == 0 || unit == 0 {
		return bad
	}
	*f.value = time.Duration(n) * unit
	return nil
}

func proposeStored(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	x, err := index.Read()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := x.Names(func(s *index.Server) bool { return s.Kept != nil })
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, cli.Proposed(name)) }), cobra.ShellCompDirectiveNoFileComp
}
