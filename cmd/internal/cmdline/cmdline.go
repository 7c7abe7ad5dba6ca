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
//
// # Two programs
//
// mcp-jail serves sessions, and stays small, because an MCP client waits for each of its starts.
// It also says what commands and which version there are ([Answer]). mcp-jail-cli has all other
// commands. A user types mcp-jail only: [Execute] puts the other program in the place of this one,
// with the same arguments, streams and argv[0]. Execute looks for it in the directory of this one,
// and nowhere else. It refuses to run if it is of another build ([Caller]).
package cmdline

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
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
func Commands() (names []string) {
	for _, c := range commands() {
		names = append(names, c[0])
	}
	return names
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
		if strings.HasPrefix(args[0], "-") || isCommand(args[0]) || !IsInPath(args[0]) {
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

// PolicyFlags are the policy of a server whose command is given after "--".
type PolicyFlags struct {
	Workspace                                            string
	Read, Write, Execute, Deny, Net, Inbound, Env, Limit []string
	Home, Name, Preset, ID                               string
}

// Flags returns the flags, which set the fields of f.
func (f *PolicyFlags) Flags() []Flag {
	return []Flag{
		{Name: "read", Value: "PATH", Many: &f.Read, Rule: true, Usage: "* Read a file or folder"},
		{Name: "write", Value: "PATH", Many: &f.Write, Rule: true, Usage: "* Read and change a file or folder"},
		{Name: "execute", Value: "PATH", Many: &f.Execute, Rule: true, Usage: "* Read and run a program, or those of a folder"},
		{Name: "deny", Value: "PATH", Many: &f.Deny, Rule: true, Usage: "* Block a path and all below, whatever else is allowed"},
		{Name: "net", Value: "HOST[:PORT]", Many: &f.Net, Rule: true, Usage: "* Connect to a host"},
		{Name: "inbound", Value: "PORT", Many: &f.Inbound, Rule: true, Usage: "* Be reached on this port, by programs of this machine"},
		{Name: "env", Value: "NAME", Many: &f.Env, Rule: true, Usage: "* Get an environment variable: NAME or PREFIX*"},
		{Name: "limit", Value: "KEY=NUMBER", Many: &f.Limit, Rule: true, Usage: "* Set a limit, such as memory_mb=8192"},
		{Name: "home", Value: "real", One: &f.Home, Rule: true, Usage: "HOME is your home folder. This alone allows no file in it"},
		{Name: "preset", Value: "NAME", One: &f.Preset, Rule: true, Usage: "With grant: what a well-known server needs"},
		{Name: "workspace", Value: "DIR", One: &f.Workspace, Rule: true, Usage: "The project folder. Default: where the server starts"},
		{Name: "id", Value: "ID", One: &f.ID, Usage: "The server's id, which mcp-jail wrap has given to it"},
		{Name: "name", Value: "NAME", One: &f.Name, Usage: "What mcp-jail status says that the line is called"},
	}
}

// FirstSet returns the first flag that is set, or "": none is for a server that has its policy in a file.
func (f *PolicyFlags) FirstSet() string {
	for _, c := range f.Flags() {
		if c.One != nil && *c.One != "" || c.Many != nil && *c.Many != nil {
			return "--" + c.Name
		}
	}
	return ""
}

// Words returns the flags that are set, as words of a command line.
func (f *PolicyFlags) Words() (words []string) {
	for _, c := range f.Flags() {
		switch {
		case c.Many != nil:
			for _, value := range *c.Many {
				words = append(words, "--"+c.Name, value)
			}
		case *c.One != "":
			words = append(words, "--"+c.Name, *c.One)
		}
	}
	return words
}

// Options returns the flags as the policy of a command line.
func (f *PolicyFlags) Options(argv []string) config.CommandLineOptions {
	return config.CommandLineOptions{
		Command: argv, Workspace: f.Workspace, Read: f.Read, Write: f.Write, Execute: f.Execute, Deny: f.Deny,
		Net: f.Net, Inbound: f.Inbound, Env: f.Env, Limit: f.Limit, Home: f.Home, Called: f.Name,
	}
}

// ConfigFlags choose the configuration files and waive gaps.
type ConfigFlags struct {
	Config, Waive []string
}

// Flags returns the flags, which set the fields of f.
func (f *ConfigFlags) Flags() []Flag {
	return []Flag{
		{Name: "config", Value: "FILE", Many: &f.Config, Usage: "Read this configuration file instead of yours (repeatable: later ones win)"},
		{Name: "waive", Value: "PART", Many: &f.Waive, Usage: "Accept a jail that is weaker in this: mcp-jail help gap"},
	}
}

// Waivers returns the words that --waive takes.
func Waivers() (words []string) {
	for _, a := range policy.Waivers() {
		words = append(words, string(a))
	}
	return words
}

// ParseWaivers returns the waivers that words name, one each, in their order. The error is about the value
// of a flag that names none.
func ParseWaivers(flag string, words []string) (waivers []policy.Axis, err error) {
	for _, w := range words {
		a := policy.Axis(w)
		if !slices.Contains(policy.Waivers(), a) {
			return nil, terminal.UsageErrorf("%s %s: must be one of %s. Name each", flag, w, strings.Join(Waivers(), ", "))
		}
		waivers = append(waivers, a)
	}
	return waivers, nil
}

// RunFlags are the flags and the argument of run.
type RunFlags struct {
	ConfigFlags
	PolicyFlags
	LogFile string
	Server  string
}

// Flags returns the flags, which set the fields of f.
func (f *RunFlags) Flags() []Flag {
	return slices.Concat(f.ConfigFlags.Flags(), f.PolicyFlags.Flags(), []Flag{
		{Name: "log-file", Value: "FILE", One: &f.LogFile, Usage: "Write what the server does to this file, too, at once"},
	})
}
