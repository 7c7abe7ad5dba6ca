// Command mcp-jail-cli has the commands of mcp-jail that people type. mcp-jail executes it
// for all of them, and a user never types its name. The one command that it does not have,
// run, it leaves to mcp-jail.
package main

import "github.com/mcp-jail/mcp-jail/cmd/internal/commands"

func main() { commands.Program() }
