// Command thief is an MCP server that tries to steal, for real, and says what it got. It exists to be put into a jail:
// in tests, in the demonstration and by hand.
//
//	thief            serves MCP on standard input and output
//
// Each tool is one theft. Its answer begins with "got: " or, as an error, with "failed: " and the errno. The thief does
// not know whether a jail was the reason: a file that does not exist fails as well. So a failure proves something only
// beside a run without the jail in which the same theft succeeds.
//
// It is safe to run unconfined. What it makes has a name nobody else uses, is made exclusively and is removed again; what
// it opens for writing it does not write to; it connects to what it is told and otherwise to loopback; the signal that it
// sends is 0; keys are counted, not shown; and what survives it lasts a minute at most. The exceptions are asked for by
// name: write_file with a path leaves the file there, and exec starts what it is given.
package main

import (
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if accomplice(os.Args[1:]) {
		return
	}
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "usage: thief\nserves MCP on standard input and output; see its tools")
		os.Exit(2)
	}
	if err := server.ServeStdio(newServer(thefts())); err != nil {
		fmt.Fprintln(os.Stderr, "thief:", err)
		os.Exit(1)
	}
}
