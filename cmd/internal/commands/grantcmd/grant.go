// Package grantcmd has the command grant, which changes what a server may reach: the file of the server, and
// nothing else.
package grantcmd

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type grantCmd struct {
	cmdline.PolicyFlags
	server, tool string
	last, remove bool
	dryRun, yes  bool
	home         string // of the user
	dir          string // where the command was typed
}

// Grant returns the command grant.
func Grant(line *cli.CommandLine) *cobra.Command {
	g := &grantCmd{}
	cmd := line.Command("grant [flags] SERVER", "Let a server reach more, or take that back, in the file of the server.", 1, false, func(args []string) error {
		g.server = cli.FirstOf(args)
		return g.Run(line.Console)
	})
	cmd.Long = `SERVER is a server that a client starts in mcp-jail (see mcp-jail status), one of the
configuration, or one that you started yourself: by the name of its file, by its name there,
or by the name that mcp-jail why shows.

grant shows the difference and asks. It writes the file of the server, and no other one:
servers/NAME.toml in the directory of the configuration. Beside an entry without an id, or a
table of the configuration, the file adds to what they have. It is not written if the server
could not start with it. A wider grant takes the place of narrower ones. Relative paths start
at your working directory.

A table that you wrote yourself is never changed: what it grants is taken back there, and so
is what a project's .mcp-jail.toml grants to its own server.

A server with stateful = false has rules for each tool: --tool names it.

The flags are those of mcp-jail run about what a server gets. --preset adds the rules that
the preset has now. --waive and --name are not among them.

--last takes what the last failure of the server lacked, as mcp-jail why shows it. What only
the server's own words name, and what may do harm, is asked for one by one. --yes leaves
that out: name it in flags, if the server is to have it.

What --remove of a denial or a limit gives back, and all of a host of which the server has
a part, is asked for apart, and not taken by --yes.

Exit status 0: all of it is granted, or was; 1: something was left out or nothing was
changed; 2: a mistake, or the server could not start with it.`
	cmd.Example = `    mcp-jail grant filesystem --read ~/notes
    mcp-jail grant github --net api.github.com --env GITHUB_TOKEN
    mcp-jail grant github --last
    mcp-jail grant filesystem --remove --read ~/notes`
	cmd.Flags().BoolVar(&g.last, "last", false, "Grant what the last failure of the server lacked: see mcp-jail why.")
	cmd.Flags().BoolVar(&g.remove, "remove", false, "Take the flags away, in place of adding them.")
	cli.AddFlags(cmd, g.taken()...)
	cli.AddFlags(cmd, cmdline.Flag{Name: "tool", Value: "NAME", One: &g.tool, Usage: "Only this tool, of a server with stateful = false; \"*\" is the table for the tools without one."})
	cmd.Flags().BoolVar(&g.dryRun, "dry-run", false, "Show what would change, and change nothing.")
	cmd.Flags().BoolVar(&g.yes, "yes", false, "Write the file without asking, for scripts.")
	cmd.ValidArgsFunction = ProposeServers
	return cmd
}

// taken returns the flags of mcp-jail run that grant takes.
func (g *grantCmd) taken() []cmdline.Flag {
	return slices.DeleteFunc(g.PolicyFlags.Flags(), func(f cmdline.Flag) bool { return f.Name == "name" || f.Name == "id" })
}

// Run finds the server, shows what changes, asks, and writes it.
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
	x, err := index.Read()
	if err != nil {
		return err
	}
	s, err := g.find(x)
	if err != nil {
		return err
	}
	return g.change(c, x.Host, s, split(words))
}

// ProposeServers proposes the servers that have a file, or can have one.
func ProposeServers(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return servers(), cobra.ShellCompDirectiveNoFileComp
}
