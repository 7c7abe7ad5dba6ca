package callcmd

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// propose proposes the servers, then the tools of the server, and no files.
func propose(line *cli.CommandLine, k *callCmd) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			names, _ = cli.ProposeServers(line, &cmdline.ConfigFlags{Config: k.config})(cmd, args, typed)
			names = k.addEntries(names)
		case len(args) == 1:
			names = pinnedTools(args[0])
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (k *callCmd) addEntries(names []string) []string {
	if len(k.config) > 0 {
		return names
	}
	_, files, err := k.Find()
	if err != nil { // call says what is wrong
		return names
	}
	for _, f := range files {
		for _, e := range f.Entries {
			names = cli.AddNames(names, []string{cli.Described(e.Server, f.Client.Title)})
		}
	}
	return names
}

// pinnedTools proposes the tools of a server whose package is pinned. Others are known to the server
// alone, which is not started to propose something.
func pinnedTools(server string) (names []string) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil
	}
	all, err := stored.Known(host)
	if err != nil {
		return nil
	}
	s, err := all.Find(cli.Meant(host, server).Stored)
	if err != nil {
		return nil
	}
	for _, e := range s.Pins {
		for _, name := range slices.Sorted(maps.Keys(e.Pins)) {
			for _, t := range e.Pins[name].Tools {
				names = cli.AddNames(names, []string{cli.Described(t.Name, "")})
			}
		}
	}
	return names
}
