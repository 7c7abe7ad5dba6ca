// Package cmdline has the part of the grammar of a command line that mcp-jail and
// mcp-jail-cli share: the flags of a policy, the words after "--", and the advice about
// the mistakes that are most likely.
//
// mcp-jail reads the command line of run with [Parse], because an MCP client waits for each
// start. mcp-jail-cli reads all other command lines with a library. It gives the library the
// same [Flag] values, so both programs report the same errors.
//
// A flag of this package takes a value. It has two dashes, and its value is the next
// argument or comes after "=".
package cmdline

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Server is the command of a server: the part of the command line after "--". No flag
// parser reads it.
type Server struct {
	Argv  []string
	Given bool
}

// Split separates the arguments of mcp-jail from the command of the server.
func Split(args []string) ([]string, Server) {
	i := slices.Index(args, "--")
	if i < 0 {
		return args, Server{}
	}
	return args[:i], Server{args[i+1:], true}
}

// Commands returns the names of all commands, the first word after mcp-jail, in the order of the help.
func Commands() []string {
	return []string{"wrap", "status", "why", "grant", "call", "undo", "unwrap", "doctor",
		"run", "plan", "check", "learn", "install", "trust", "preset", "help"}
}

// IsHelp reports whether an argument asks for help.
func IsHelp(arg string) bool { return arg == "--help" || arg == "-h" }

// IsRun reports whether a command line starts a session, which mcp-jail itself serves. A request
// for the help of run starts none.
func IsRun(args []string) bool {
	args, _ = Split(args)
	return len(args) > 0 && args[0] == "run" && !slices.ContainsFunc(args, IsHelp)
}

// ParseRun parses the arguments of run, which begin with "run".
func ParseRun(args []string) (*RunFlags, error) {
	f := &RunFlags{}
	if len(args) == 1 { // as most clients start a server: run -- COMMAND
		return f, nil
	}
	words, err := Parse(args[1:], f.Flags())
	switch {
	case err != nil:
		return nil, err
	case len(words) > 1:
		return nil, fmt.Errorf("unexpected argument %s", words[1])
	case len(words) == 1:
		f.Server = words[0]
	}
	return f, nil
}

func isCommand(word string) bool { return slices.Contains(Commands(), word) }

// IsInPath reports whether word names a program in PATH.
func IsInPath(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// MissingDashes recognises the most likely mistake, a server's command without "--" before
// it, and returns a message with the correct command line, or "".
func MissingDashes(args []string, server Server) string {
	switch {
	case server.Given && len(args) == 0:
		return "the command is missing. Type  " + show.Typed("mcp-jail run --", server.Argv...)
	case len(args) == 0, server.Given && isCommand(args[0]):
		return ""
	case server.Given: // "--" was one of the server's own arguments
		args = slices.Concat(args, []string{"--"}, server.Argv)
	}
	if args[0] == "install" {
		return dashesBeforeLauncher(args)
	}
	if args[0] != "run" && args[0] != "plan" {
		misspelt := func(name string) bool { return config.Suggest(args[0], []string{name}) != "" && !IsInPath(args[0]) }
		if strings.HasPrefix(args[0], "-") || isCommand(args[0]) || slices.ContainsFunc(Commands(), misspelt) {
			return ""
		}
		return fmt.Sprintf("%s is no command of mcp-jail. To start it as a server, type  %s", show.Line(args[0]), show.Typed("mcp-jail run --", args...))
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "--"):
			if !strings.Contains(a, "=") {
				i++ // every flag of run and plan has a value
			}
		case strings.HasPrefix(a, "-"):
		case i+1 < len(args):
			return dashesBefore(args[:i], args[i:])
		}
	}
	return ""
}

func dashesBeforeLauncher(args []string) string {
	for i, a := range args[1:] {
		if slices.Contains([]string{"npx", "npm", "bunx", "pnpm", "yarn", "uvx", "uv", "pipx"}, a) && len(args) > i+2 {
			return dashesBefore(args[:i+1], args[i+1:])
		}
	}
	return ""
}

func dashesBefore(own, server []string) string {
	const advice = "put -- before the command of the server"
	line, ok := show.Words(slices.Concat([]string{"mcp-jail"}, own, []string{"--"}, server))
	if !ok {
		return advice
	}
	return advice + ": type  " + line
}
