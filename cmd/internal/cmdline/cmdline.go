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
	"cmp"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Server is the command of a server: the part of the command line after "--". No flag
// parser reads it.
type Server struct {
	Argv  []string
	Given bool
	Line  []string // the whole command line, beginning with mcp-jail
}

// Split separates the arguments of mcp-jail from the command of the server. program is the name
// by which mcp-jail was called.
func Split(program string, args []string) ([]string, Server) {
	i := slices.Index(args, "--")
	if i < 0 {
		return args, Server{}
	}
	return args[:i], Server{args[i+1:], true, append([]string{program}, args...)}
}

// Commands returns the names of all commands: the first word after mcp-jail.
func Commands() []string {
	return []string{"run", "wrap", "unwrap", "status", "grant", "call", "learn", "install", "check", "plan", "preset", "list", "rm", "doctor", "why", "explain", "changes", "undo", "trust", "untrust", "version", "completion", "schema", "help"}
}

// IsHelp reports whether an argument asks for help.
func IsHelp(arg string) bool { return arg == "--help" || arg == "-h" }

// IsRun reports whether a command line starts a session, which mcp-jail itself serves. A request
// for the help of run starts none.
func IsRun(args []string) bool {
	args, _ = Split("", args)
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
		return "the subcommand is missing; type  " + show.Typed("mcp-jail run --", server.Argv...)
	case len(args) == 0, server.Given && isCommand(args[0]):
		return ""
	case server.Given: // "--" was one of the server's own arguments
		args = slices.Concat(args, []string{"--"}, server.Argv)
	}
	if slices.Contains([]string{"install"}, args[0]) {
		return dashesBeforeLauncher(args)
	}
	if args[0] != "run" && args[0] != "plan" {
		misspelt := func(name string) bool { return config.Suggest(args[0], []string{name}) != "" && !IsInPath(args[0]) }
		if strings.HasPrefix(args[0], "-") || isCommand(args[0]) || slices.ContainsFunc(Commands(), misspelt) {
			return ""
		}
		return fmt.Sprintf("%s is not a subcommand of mcp-jail; to start it as a server, type  %s", show.Line(args[0]), show.Typed("mcp-jail run --", args...))
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

// DefaultName returns a name for a server that is given on the command line. It is always a
// valid server name, and ends with a short hash, which keeps two servers from sharing a private
// HOME.
//
// If a launcher such as npx fetches the server's package, DefaultName makes the name of
// the package, and leaves out version and arguments: see [runline.Line.Key]. They count if the package runs
// code that they name, as tsx does. Other servers have their [config.DefaultName].
func DefaultName(argv []string, dir string) string {
	line, err := runline.Parse(argv)
	if err != nil {
		return config.DefaultName(argv, dir)
	}
	if code := codeOf(&line, dir); code != "" {
		return line.Display() + "-" + policy.ShortHash(line.Key(dir)+"\x00"+code)
	}
	return line.Key(dir)
}

// Identity returns a text that tells programs apart. Versions of packages do not change it: a user
// edits them, and it stays the same server. What else decides which code a package runs does. A command
// without a launcher has its [config.Identity].
func Identity(argv []string, dir string) string {
	line, err := runline.Parse(argv)
	if err != nil {
		return config.Identity(argv, dir)
	}
	text := line.Key(dir)
	count := func(name, value string) { // in another directory, a relative path is another one
		if text += "\x00--" + name + "=" + value; !strings.HasPrefix(value, "/") {
			text += "\x00" + dir
		}
	}
	for _, o := range line.Options {
		switch {
		case strings.Contains(o.Value, "://"): // another registry has another package of the name
			text += "\x00--" + o.Name + "=" + runline.WithoutUser(o.Value)
		case slices.Contains(files, o.Name) || strings.ContainsAny(o.Value, `/\`):
			count(o.Name, o.Value)
		}
	}
	for _, file := range line.Requirements {
		count("with-requirements", file)
	}
	for _, v := range line.Env {
		if v.Name == "PATH" || policy.IsDangerousVariable(v.Name) {
			count("env", v.Name+"="+v.Value)
		}
	}
	if line.NodeOptions != "" {
		count("node-options", line.NodeOptions)
	}
	if strings.ContainsAny(line.Python, `/\`) {
		count("python", line.Python)
	}
	return text + codeOf(&line, dir)
}

// files are options whose value can be the name of a file or a directory.
var files = []string{"find-links", "constraints", "overrides", "build-constraints", "config-file", "userconfig", "index", "default-index"}

// codeOf returns what tells apart the code that a package runs if its arguments may name it, else "".
func codeOf(line *runline.Line, dir string) string {
	words := append([]string{cmp.Or(line.Program, line.Display())}, line.Args...)
	if text := config.Identity(words, dir); text != words[0] {
		return "\x00\x00" + text
	}
	return ""
}

// CodeDir returns the directory on which the code of a line depends, as IdentityIn places it: the
// workspace or dir. It returns "" if the line is the same program in each directory.
func CodeDir(argv []string, dir, workspace string) string {
	switch here := IdentityIn(argv, "/a", "/a"); {
	case here != IdentityIn(argv, "/a", "/b"):
		return workspace
	case here != IdentityIn(argv, "/b", "/a"):
		return dir
	}
	return ""
}

// IdentityIn is Identity for a command after --: its program is looked for in dir, and its script or the
// directory of its package in the workspace.
func IdentityIn(argv []string, dir, workspace string) string {
	placed := slices.Clone(argv)
	if len(argv) > 0 && strings.Contains(argv[0], "/") && !path.IsAbs(argv[0]) {
		placed[0] = dir + "/" + strings.TrimPrefix(argv[0], "./") // where ".." leads depends on links
	}
	if there := Identity(placed, workspace); there != Identity(placed, dir) {
		return there
	}
	return Identity(argv, dir)
}
