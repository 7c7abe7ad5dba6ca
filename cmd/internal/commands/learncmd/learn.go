// Package learncmd has the command learn, which is being rebuilt: it says so, and starts no server.
package learncmd

import (
	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
)

// Learn returns the command learn.
func Learn(line *cli.CommandLine) *cobra.Command {
	cmd := line.Command("learn [SERVER | -- COMMAND [ARG...]]", "Find out what a server needs. It is being rebuilt, and starts nothing.", 1, true, func([]string) error {
		return exit.UsageErrorf("learn is being rebuilt and starts no server yet; `mcp-jail grant NAME --last` grants what the last failure of a server lacked")
	})
	cmd.Long = `learn is being rebuilt and starts no server. When a server has failed,
` + "`mcp-jail grant NAME --last`" + ` grants what it lacked, after a question.

Exit status 2, always.`
	cmd.Example = `    mcp-jail grant memory --last`
	return cmd
}
