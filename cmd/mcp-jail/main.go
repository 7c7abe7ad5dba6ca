// Command mcp-jail starts an MCP server in a kernel-enforced jail and passes its messages
// through unchanged. For its use see the README, or mcp-jail --help.
//
// This program serves sessions: the command run. An MCP client waits for each start of
// mcp-jail, so the program links little. It lists the commands and tells its version, too. For
// every other command it executes mcp-jail-cli, which lies in the same directory: see package cmdline.
//
//   - run.go makes a session of package lifecycle from the command line.
//   - log.go opens the file of --log-file.
//
// The packages that it shares with mcp-jail-cli are in cmd/internal. Standard output belongs to
// MCP. A session writes the records, the list cache, private HOMEs, the journals of undo, and
// pins of tools. It changes neither the configuration nor the trust store.
package main

import (
	"errors"
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

func main() {
	confine.RunSupervisor()
	c := terminal.New(os.Stdin, os.Stdout, os.Stderr)
	if err := confine.CanPoll(); err != nil {
		c.Sayf("%s", err)
		os.Exit(terminal.Failure)
	}
	c = c.WithColours()
	args := os.Args[1:]
	executed, err := cmdline.Caller()
	switch {
	case err == nil && cmdline.IsRun(args):
		c.Umask = cmdline.ClearOwnerUmask()
		sayNotHeld(c)
		run(args, c).Die()
	case err == nil && executed:
		err = errors.New("mcp-jail-cli executes mcp-jail for run only")
	case err == nil:
		if status, answered := cmdline.Answer(args, c); answered {
			os.Exit(status)
		}
		err = cmdline.Execute(cmdline.Companion, args)
	}
	c.Errorf("%s", err)
	os.Exit(terminal.Failure)
}
