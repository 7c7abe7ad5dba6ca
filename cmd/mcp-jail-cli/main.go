// Command mcp-jail-cli has the commands of mcp-jail that people type. mcp-jail executes it
// for each of them, and a user never types its name. For run, which it does not serve, it
// executes mcp-jail.
package main

import (
	"os"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands"
	"github.com/mcp-jail/mcp-jail/packages/download"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == download.Word { // in the jail of an installation
		os.Exit(download.Main(os.Args[2:]))
	}
	commands.Program()
}
