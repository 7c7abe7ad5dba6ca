// Package grantcmd has the command grant, which changes what a server may reach: the flags of its
// entry in the file of a client.
package grantcmd

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type grantCmd struct {
	entries.Choice
	cmdline.PolicyFlags
	server, project, tool string
	last, remove          bool
	dryRun, yes           bool
	home                  string // of the user
	dir                   string // where the command was typed
}

// Grant returns the command grant.
func Grant(line *cli.CommandLine) *cobra.Command {
	g := &grantCmd{}
	cmd := line.Command("grant [flags] SERVER", "Let a server reach more, or take that back: change its flags in its client's file, or its table.", 1, false, func(args []string) error {
		g.server = cli.FirstOf(args)
		return g.Run(line.Console)
	})
	cmd.Long = `SERVER is a server that a client starts in mcp-jail (see mcp-jail status), by its name there
or the name that mcp-jail why shows. A server without mcp-jail in front needs mcp-jail wrap
first.

grant shows the difference and asks. It changes the flags in the entry of the server, or the
server's table in a file of the configuration, and no other byte of the file. It keeps a copy
of the file, and writes nothing that the server could not start with. Relative paths start at
your working directory. A grant that is there already changes nothing.

A project's .mcp-jail.toml must be trusted before, and is trusted again with the change. A
server with stateful = false has a table for each tool: --tool names it.

The flags are those of mcp-jail run about what a server gets. --waive, which does without a
part of the jail, and --name, which the private HOME belongs to, are not among them: change
these by hand.

--last takes what the last failure of the server lacked, as mcp-jail why shows it. What only
the server's own words name, sensitive and protected paths, and what a session of the same
name with another command line lacked, are asked for one by one. --yes leaves these out:
name them in flags, if the server is to have them.

Exit status 0: all of it is granted, or was; 1: something was left out or nothing was
changed; 2: a mistake, or the server could not start with it.`
	cmd.Example = `    mcp-jail grant filesystem --read ~/notes
    mcp-jail grant github --net api.github.com --env GITHUB_TOKEN
    mcp-jail grant github --last
    mcp-jail grant filesystem --remove --read ~/notes`
	cmd.Flags().BoolVar(&g.last, "last", false, "Grant what the last failure of the server lacked: see mcp-jail why.")
	cmd.Flags().BoolVar(&g.remove, "remove", false, "Take the flags away, in place of adding them.")
	cli.AddFlags(cmd, g.taken()...)
	g.AddFileFlags(cmd)
	cli.AddFlags(cmd, cmdline.Flag{Name: "project", Value: "DIR", One: &g.project, Usage: "Only the entry for this project, where one file has entries for several; \"none\" is the entry for all projects."})
	cli.AddFlags(cmd, cmdline.Flag{Name: "tool", Value: "NAME", One: &g.tool, Usage: "Only this tool, of a server with stateful = false; \"*\" is the table for the tools without one."})
	cmd.Flags().BoolVar(&g.dryRun, "dry-run", false, "Show what would change, and change nothing.")
	cmd.Flags().BoolVar(&g.yes, "yes", false, "Change the file without asking, for scripts.")
	cmd.ValidArgsFunction = proposeServers
	return cmd
}

// taken returns the flags of mcp-jail run that grant takes.
func (g *grantCmd) taken() []cmdline.Flag {
	return slices.DeleteFunc(g.PolicyFlags.Flags(), func(f cmdline.Flag) bool { return f.Name == "name" || f.Name == "id" })
}

// tries bounds how often grant begins again because the file was changed meanwhile.
const tries = 30

// Run finds the server, shows what changes, asks, and writes it. If the file is changed meanwhile,
// it begins again with the new one.
func (g *grantCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	g.home, g.dir = host.Home, host.Dir
	words := g.PolicyFlags.Words()
	switch {
	case g.server == "":
		return exit.UsageErrorf("name the server: mcp-jail grant SERVER --read PATH; `mcp-jail status` shows their names")
	case g.last && len(words) > 0:
		return exit.UsageErrorf("--last takes the grants from the last failure: leave %s out, or --last", words[0])
	case g.last && g.remove:
		return exit.UsageErrorf("--last cannot be taken back: name the flags that mcp-jail grant --remove is to take away")
	case !g.last && len(words) == 0:
		return exit.UsageErrorf("say what to grant, such as --read PATH, --net HOST or --env NAME; --last takes what the last failure lacked")
	}
	for n := 1; ; n++ {
		err := g.once(c, host, granting.Split(words))
		if again := errors.Is(err, ownfile.ErrChanged) || errors.Is(err, ownfile.ErrBusy); !again || n == tries {
			return err
		}
		c.Notef("the file was changed meanwhile: this is what changes in it now")
	}
}

func (g *grantCmd) once(c terminal.Console, host hostfs.Host, wanted []granting.Flag) error {
	places, err := g.places(host)
	if err != nil {
		return err
	}
	chosen, err := g.choose(c, places)
	if err != nil {
		return err
	}
	left := false
	for _, p := range chosen {
		err := g.change(c, host, p, wanted)
		var quiet exit.ReportedStatus
		if err != nil && !errors.As(err, &quiet) {
			return err
		}
		left = left || err != nil
	}
	if left {
		return exit.ReportedStatus(exit.Failure)
	}
	return nil
}

func proposeServers(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	servers, _ := entries.WrappedServers() // grant says what is wrong
	for _, w := range servers {
		names = cli.AddNames(names, []string{cli.Described(w.Entry.Server, w.File.Client.Title)})
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
