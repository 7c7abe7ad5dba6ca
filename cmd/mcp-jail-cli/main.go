// Command mcp-jail-cli has the commands of mcp-jail that people type. mcp-jail executes it
// for each of them, and a user never types its name. For run, which it does not serve, it
// executes mcp-jail.
package main

import "github.com/mcp-jail/mcp-jail/cmd/internal/commands"

func main() { commands.Program() }
