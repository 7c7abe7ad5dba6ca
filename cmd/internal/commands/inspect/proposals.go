package inspect

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func proposeTools(f *cmdline.ConfigFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		files, err := session.ExpandHome(f.Config)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := config.Load(config.LoadOptions{Files: files})
		if err != nil || cfg.Servers[cli.FirstOf(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, tool := range cfg.DeclaredTools(cli.FirstOf(args)) {
			names = append(names, cli.Described(tool, ""))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// proposePlanned proposes the servers that proposeServers proposes, and the wrapped servers with
// their clients as descriptions. It leaves out wrapped servers in files of a project.
func proposePlanned(line *cli.CommandLine, f *cmdline.ConfigFlags) cobra.CompletionFunc {
	configured := cli.ProposeServers(line, f)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		names, directive := configured(cmd, args, typed)
		if line.Server.Given || len(args) > 0 || len(f.Config) > 0 {
			return names, directive
		}
		if x, err := index.Read(); err == nil { // else plan says what is wrong
			names = cli.AddNames(names, x.Names(func(s *index.Server) bool { return s.IsOwn() && s.IsJailed() }))
		}
		return names, directive
	}
}

func proposeChecked(line *cli.CommandLine, f *cmdline.ConfigFlags) cobra.CompletionFunc {
	servers := proposePlanned(line, f)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || strings.ContainsAny(typed, "/.") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names, _ := servers(cmd, args, typed)
		return names, cobra.ShellCompDirectiveDefault
	}
}
