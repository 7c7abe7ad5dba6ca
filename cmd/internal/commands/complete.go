package commands

import (
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
