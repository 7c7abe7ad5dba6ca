// Command mcp-jail starts an MCP server in a kernel-enforced jail and passes
// its messages through unchanged. See the README, or mcp-jail --help.
package main

import (
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
)

func main() {
	confine.ShimMain()
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
