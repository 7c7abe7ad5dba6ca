package commands

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// completion returns the command that prints the script for a shell.
func (x *front) completion() *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash": func(root *cobra.Command) error { return root.GenBashCompletionV2(x.console.Writer(), true) },
		"zsh":  func(root *cobra.Command) error { return root.GenZshCompletion(x.console.Writer()) },
		"fish": func(root *cobra.Command) error { return root.GenFishCompletion(x.console.Writer(), true) },
	}
	names := []string{"bash", "zsh", "fish"}
	var cmd *cobra.Command
	cmd = x.command("completion SHELL", "Print the script that completes mcp-jail's command line in a shell.", 1, false, func(args []string) error {
		print := shells[firstOf(args)]
		if print == nil {
			return target.UsageErrorf("mcp-jail completion: name a shell, one of %s", strings.Join(names, ", "))
		}
		return print(cmd.Root())
	})
	cmd.Long = `SHELL is bash, zsh or fish. The script asks mcp-jail for commands, flags, servers,
presets and clients, so it does not change when they do. Packages install it. To
install it for yourself, write it to the file below, and start a new shell.

bash needs the package bash-completion:

    mkdir -p ~/.local/share/bash-completion/completions
    mcp-jail completion bash >~/.local/share/bash-completion/completions/mcp-jail

zsh reads the directories in fpath. These lines go into ~/.zshrc, once:

    fpath=(~/.zfunc $fpath)
    autoload -Uz compinit && compinit

and then:

    mkdir -p ~/.zfunc
    mcp-jail completion zsh >~/.zfunc/_mcp-jail

fish:

    mkdir -p ~/.config/fish/completions
    mcp-jail completion fish >~/.config/fish/completions/mcp-jail.fish

For all users of the host the files are, as root:

    bash    /usr/share/bash-completion/completions/mcp-jail
    zsh     /usr/local/share/zsh/site-functions/_mcp-jail
    fish    /etc/fish/completions/mcp-jail.fish`
	cmd.Example = `    source <(mcp-jail completion bash)      # for this shell only
    source <(mcp-jail completion zsh)       # the same, after compinit
    mcp-jail completion fish | source`
	cmd.ValidArgsFunction = proposeOne(names)
	return cmd
}

// complete answers a request of the script of a shell for proposals.
func complete(args []string, c terminal.Console) int {
	var owner *hostfs.OwnerError
	if _, err := hostfs.LocalHost(); errors.As(err, &owner) {
		return target.Report(c, err) // proposals would come from files of another user
	}
	x := &front{console: c}
	x.server.Given = slices.Contains(args[:len(args)-1], "--") // the last word is being typed
	root := x.root()
	root.SetArgs(args)
	return target.Report(c, root.Execute())
}

// proposals returns what a shell may propose for the value of a flag: nil means files.
func proposals(f cmdline.Flag) cobra.CompletionFunc {
	words := func(words []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch f.Name {
	case "config", "read", "write", "execute", "deny", "log-file":
		return nil
	case "workspace":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "waive":
		return words(strings.Split(cmdline.Axes(), ", "))
	case "home":
		return words([]string{"private", "real"})
	case "env":
		return words(variableNames())
	case "preset":
		return proposePresetsFor
	case "limit":
		return cobra.FixedCompletions(limitNames(), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	}
	return words(f.Words)
}

// proposeOne proposes the words for the first argument, and nothing for the others.
func proposeOne(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// proposeTools proposes the tools of the server on the command line that have a table.
func proposeTools(f *cmdline.ConfigFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		files, err := target.ExpandHome(f.Config)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := config.Load(config.LoadOptions{Files: files})
		if err != nil || cfg.Servers[firstOf(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, tool := range cfg.DeclaredTools(firstOf(args)) {
			names = append(names, described(tool, ""))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// variableNames returns the names of the variables that are set.
func variableNames() (names []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, described(name, ""))
	}
	slices.Sort(names)
	return names
}

// proposeServers proposes the configured servers, with their commands as descriptions, and
// files behind "--".
func (x *front) proposeServers(f *cmdline.ConfigFlags) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if x.server.Given {
			return nil, cobra.ShellCompDirectiveDefault
		}
		files, err := target.ExpandHome(f.Config)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := config.Load(config.LoadOptions{Files: files})
		if err != nil { // check says what is wrong
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, name := range cfg.ServerNames() {
			names = append(names, described(name, cfg.Servers[name].Command))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// proposePlanned proposes the servers that proposeServers proposes, and the wrapped servers with
// their clients as descriptions. It leaves out wrapped servers in files of a project.
func (x *front) proposePlanned(f *cmdline.ConfigFlags) cobra.CompletionFunc {
	configured := x.proposeServers(f)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		names, directive := configured(cmd, args, typed)
		if x.server.Given || len(args) > 0 || len(f.Config) > 0 {
			return names, directive
		}
		servers, _ := wrappedServers() // plan says what is wrong
		for _, w := range servers {
			if name := w.entry.Server; !w.file.IsProject() {
				names = addNames(names, []string{described(name, w.file.Client.Title)})
			}
		}
		return names, directive
	}
}

// proposeChecked proposes the servers that check takes, and files.
func (x *front) proposeChecked(f *cmdline.ConfigFlags) cobra.CompletionFunc {
	servers := x.proposePlanned(f)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || strings.ContainsAny(typed, "/.") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names, _ := servers(cmd, args, typed)
		return names, cobra.ShellCompDirectiveDefault
	}
}

// proposed returns a proposal without its description.
func proposed(text string) string {
	name, _, _ := strings.Cut(text, "\t")
	return name
}

// addNames adds names to proposals that do not have them.
func addNames(proposals, names []string) []string {
	for _, name := range names {
		if !slices.ContainsFunc(proposals, func(p string) bool { return proposed(p) == proposed(name) }) {
			proposals = append(proposals, name)
		}
	}
	return proposals
}

// proposeRecords proposes the servers that have records.
func proposeRecords(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	host, err := hostfs.LocalHost()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range listRecords(host) {
		names = append(names, s.Server)
	}
	return proposedHere(host, names), cobra.ShellCompDirectiveNoFileComp
}
