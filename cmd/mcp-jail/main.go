// Command mcp-jail starts an MCP server in a kernel-enforced jail and passes its messages
// through unchanged. For its use see the README, or mcp-jail --help.
//
// This package reads the command line, wires the other packages together, and prints.
// Package policy decides what a server may do, and package confine enforces it:
//
//   - cli.go, flags.go and help.go read the command line and call the subcommand. Each
//     subcommand is a struct of its flags with a method Run, in a file of its name.
//   - target.go goes from the command line or the configuration to a resolved profile.
//     All subcommands about servers begin there.
//   - run.go makes a session of package lifecycle from a target. start_retry.go resolves
//     the profile again if the host changed during a start. refuse.go answers the client
//     if there is no session.
//   - record.go and session_marker.go keep the records that why reads.
//   - console.go has the rules for terminal output, status.go the exit statuses.
//
// Under run, standard output belongs to MCP. This package starts no goroutine that outlives
// a subcommand, and keeps no state but the records, the trust store and the list cache.
//
// The package has some 3,800 lines: one file or two for each subcommand, and none uses another's.
package main

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
)

func main() {
	confine.RunSupervisor()
	if err := confine.CanPoll(); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-jail:", err)
		os.Exit(exitFailure)
	}
	status, by := runProgram(os.Args[1:], console{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	if by != 0 {
		exitBySignal(by)
	}
	os.Exit(status)
}
