package callcmd

import (
	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
)

// propose proposes the servers, and no files.
func propose(line *cli.CommandLine, k *callCmd) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := cli.ProposeServers(line, &cmdline.ConfigFlags{Config: k.config})(cmd, args, typed)
		if len(k.config) > 0 {
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		_, files, err := k.Find()
		if err != nil { // call says what is wrong
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		for _, f := range files {
			for _, e := range f.Entries {
				names = cli.AddNames(names, []string{cli.Described(e.Server, f.Client.Title)})
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
