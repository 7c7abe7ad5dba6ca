// Command thief is an MCP server that really tries to steal, and reports what it got. Tests, the demonstration and users
// put it into a jail.
//
//	thief            serves MCP on standard input and output
//
// Each tool is one theft. Its answer begins with "got: " or, as an error, with "failed: " and the errno. The thief cannot
// tell whether a jail was the reason: the theft of a missing file fails as well. So a failure proves something only
// together with a run without the jail in which the same theft succeeds.
//
// It is safe to run unconfined. It makes files with O_EXCL, and does not write to the files that it opens for writing. It
// connects to the given address, or else to loopback. It sends signal 0. A surviving process lasts a minute at most.
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
	if err := server.ServeStdio(newServer()); err != nil {
		fmt.Fprintln(os.Stderr, "thief:", err)
		os.Exit(1)
	}
}
