package callcmd

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
)

// propose proposes the servers, then the tools of the server, and no files.
func propose(line *cli.CommandLine, k *callCmd) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			names, _ = cli.ProposeServers(line, &cmdline.ConfigFlags{Config: k.Config})(cmd, args, typed)
			if x, err := k.Read(); err == nil && len(k.Config) == 0 { // else the command says what is wrong
				names = cli.AddNames(names, x.Names(func(s *index.Server) bool { return len(s.Entries) > 0 }))
			}
		case len(args) == 1:
			names = pinnedTools(args[0])
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// pinnedTools proposes the tools of a server whose package is pinned. Others are known to the server
// alone, which is not started to propose something.
func pinnedTools(server string) (names []string) {
	x, err := index.Read()
	if err != nil {
		return nil
	}
	s, err := x.Pick(server, nil)
	if err != nil || s.Kept == nil {
		return nil
	}
	for _, e := range s.Kept.Pins {
		for _, name := range slices.Sorted(maps.Keys(e.Pins)) {
			for _, t := range e.Pins[name].Tools {
				names = cli.AddNames(names, []string{cli.Described(t.Name, "")})
			}
		}
	}
	return names
}
