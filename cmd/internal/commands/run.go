package commands

import (
	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
)

// run returns the command run for its help and for completion: mcp-jail itself runs it.
func runCommand(line *cli.CommandLine) *cobra.Command {
	f := &cmdline.RunFlags{}
	cmd := line.Command("run [flags] [SERVER | -- COMMAND [ARG...]]",
		"Start a server in its jail and relay MCP messages between the client and the server.", 1, true, nil)
	cmd.Long = `SERVER is the name of a configured server. Without it, give a command behind --.
Without --preset, --read, --write, --execute or --net such a command gets the
default policy: it may read and write the workspace and has no network. Standard
output carries only MCP. mcp-jail ends as the server does, with its exit status
or its signal.`
	cmd.Example = `    mcp-jail run -- npx -y @modelcontextprotocol/server-memory
    mcp-jail run --preset github -- github-mcp-server stdio
    mcp-jail run --read ~/notes --env NOTES_TOKEN -- notes-server ~/notes
    mcp-jail run github`
	cli.AddFlags(cmd, f.Flags()...)
	cmd.ValidArgsFunction = cli.ProposeServers(line, &f.ConfigFlags)
	return cmd
}
