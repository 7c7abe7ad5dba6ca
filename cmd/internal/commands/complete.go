package commands

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func completionCommand(line *cli.CommandLine) *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash": func(root *cobra.Command) error { return root.GenBashCompletionV2(line.Console.Writer(), true) },
		"zsh":  func(root *cobra.Command) error { return root.GenZshCompletion(line.Console.Writer()) },
		"fish": func(root *cobra.Command) error { return root.GenFishCompletion(line.Console.Writer(), true) },
	}
	names := []string{"bash", "zsh", "fish"}
	var cmd *cobra.Command
	cmd = line.Command("completion SHELL", "Print the script that completes mcp-jail's command line in a shell.", 1, false, func(args []string) error {
		print := shells[cli.FirstOf(args)]
		if print == nil {
			return exit.UsageErrorf("mcp-jail completion: name a shell, one of %s", strings.Join(names, ", "))
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
	cmd.ValidArgsFunction = cli.ProposeOne(names)
	return cmd
}

func complete(args []string, c terminal.Console) int {
	var owner *hostfs.OwnerError
	if _, err := hostfs.LocalHost(); errors.As(err, &owner) {
		return exit.Report(c, err) // proposals would come from files of another user
	}
	line := &cli.CommandLine{Console: c}
	line.Server.Given = slices.Contains(args[:len(args)-1], "--") // the last word is being typed
	root := commandTree(line)
	root.SetArgs(args)
	return exit.Report(c, root.Execute())
}
