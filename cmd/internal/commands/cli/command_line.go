// Package cli has what the commands of mcp-jail share: the command line, flags and the errors about
// them, help texts, proposals for a shell, questions, tables, amounts and times as text.
package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// CommandLine is one command line and the commands that may serve it.
type CommandLine struct {
	Console terminal.Console
	Server  cmdline.Server
	Failed  error // of the command, after its command line was accepted
}

// Command returns a command that takes up to most arguments. If forServers is set, it also takes
// a command after "--".
func (line *CommandLine) Command(use, short string, most int, forServers bool, run func(args []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.Flags().SortFlags = false
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return fmt.Errorf("unexpected argument %s%s", args[most], selectionHint(cmd, args[most]))
		case line.Server.Given && !forServers:
			return fmt.Errorf("mcp-jail %s takes no command after --", cmd.Name())
		}
		line.Failed = run(args)
		return nil
	}
	return cmd
}

// AnyNumber is the most arguments of a command that takes any number of them.
const AnyNumber = 1 << 30

// FirstOf returns the first argument, or "".
func FirstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func selectionHint(cmd *cobra.Command, word string) string {
	if cmd.Flags().Lookup("client") == nil {
		return ""
	}
	if c, err := clients.ByName(word); err == nil {
		return ", did you mean --client " + c.Name + "?"
	}
	if _, err := os.Stat(word); err == nil || strings.ContainsAny(word, "/.") {
		return didYouMean("--file", word, "?")
	}
	return didYouMean("--server", word, "? A client: --client NAME")
}

func didYouMean(flag, word, more string) string {
	line, ok := show.TypedOK(flag, word)
	if !ok {
		return ""
	}
	return ", did you mean " + line + more
}
