package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// expandHome replaces a leading ~/ of each file: MCP clients start no shell that would.
// The files stay relative, so that errors name them as the user typed them.
func expandHome(files []string) ([]string, error) {
	out := slices.Clone(files)
	for i, f := range files {
		if rest, ok := strings.CutPrefix(f, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			out[i] = filepath.Join(home, rest)
		}
	}
	return out, nil
}

// absolutePath returns the absolute path of a file of the command line.
func absolutePath(file string) (string, error) {
	files, err := expandHome([]string{file})
	if err != nil {
		return "", err
	}
	return filepath.Abs(files[0])
}

// absolutePaths returns the absolute paths of files, for code that has no working directory.
func absolutePaths(files []string) (out []string) {
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// serverCommand is the part of the command line behind "--". It belongs to the server,
// so no flag parser reads it.
type serverCommand struct {
	argv       []string
	given      bool
	invocation []string // the whole command line, beginning with mcp-jail
}

// runProgram runs a command line and returns the exit status and, if the process is to
// end by a signal, the signal. If output was lost, the status is at least exitFailure.
func runProgram(args []string, c console) (status int, by syscall.Signal) {
	var lost error
	c.writeErr, c.exitSignal = &lost, &by
	c.umask = clearOwnerUmask()
	status = c.dispatch(args)
	if lost != nil {
		c.errorf("the output is not complete: %s", lost)
		status = max(status, exitFailure)
	}
	return status, by
}

// exitAs makes mcp-jail exit with the status or by the signal of a server.
func (c console) exitAs(exit confine.Exit) error {
	*c.exitSignal = exit.Signal
	return reportedStatus(exit.Code)
}

// programName returns the path by which this program was started, or "mcp-jail" if its
// name is another.
func programName() string {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == "mcp-jail" {
		return os.Args[0]
	}
	return "mcp-jail"
}

func (c console) dispatch(args []string) int {
	var server serverCommand
	if i := slices.Index(args, "--"); i >= 0 {
		server = serverCommand{args[i+1:], true, append([]string{programName()}, args...)}
		args = args[:i]
	}
	c = c.withColours()
	switch { // common first attempts
	case len(args) == 0 && !server.given, len(args) == 1 && args[0] == "help":
		args = []string{"--help"}
	case len(args) == 2 && args[0] == "help":
		args = []string{args[1], "--help"}
	case len(args) > 0 && args[0] == "--version":
		args = append([]string{"version"}, args[1:]...)
	}
	if slices.ContainsFunc(args, isHelpFlag) {
		return help(c, args)
	}
	launcher := confine.Launcher{Umask: c.umask}
	if len(args) > 0 && args[0] == "run" {
		// The jail's init starts while the command line and the policy are read.
		launcher.Prepared = launcher.Prepare()
		defer launcher.Prepared.Close()
		if r := parseSimpleRun(args, server); r != nil {
			return reportError(c, r.Run(c, server, launcher))
		}
	}
	flags, err := parse(args)
	if err != nil {
		return reportMisuse(c, args, server, err)
	}
	switch k := flags.(type) {
	case *runCmd:
		err = k.Run(c, server, launcher)
	case *planCmd:
		err = k.Run(c, server)
	case interface{ Run(console) error }:
		if server.given {
			return reportMisuse(c, args, server, fmt.Errorf("mcp-jail %s takes no command behind --", args[0]))
		}
		err = k.Run(c)
	default:
		panic("no way to run " + args[0])
	}
	return reportError(c, err)
}

// parseSimpleRun parses the two command lines of most clients, run SERVER and run --
// COMMAND, without the flag parser, whose first use is slow. It returns nil for any other.
func parseSimpleRun(args []string, server serverCommand) *runCmd {
	switch {
	case len(args) == 1 && server.given:
		return &runCmd{}
	case len(args) == 2 && !server.given && args[1] != "" && args[1][0] != '-':
		return &runCmd{serverArg: serverArg{args[1]}}
	}
	return nil
}

// reportMisuse reports a mistake on the command line and returns exitUsage. If an MCP
// client probably started the program, it gets the error as the response to its first request.
func reportMisuse(c console, args []string, server serverCommand, err error) int {
	msg := err.Error()
	client := len(args) == 0 || args[0] == "run"
	if hint := missingDashesHint(args, server); hint != "" {
		msg = hint
		// An executable in place of a subcommand: the user forgot run and --.
		client = client || args[0] != "plan" && isInPath(args[0]) && !isTerminal(c.in)
	}
	if client {
		refuseSession(c, nil, "", usageErrorf("%s", msg))
		return exitUsage
	}
	c.errorf("%s\nRun  mcp-jail --help  or  mcp-jail COMMAND --help", msg)
	return exitUsage
}

func isSubcommand(word string) bool {
	return slices.ContainsFunc(subcommands(), func(s subcommand) bool { return s.name == word })
}

// isInPath reports whether word names a program in PATH.
func isInPath(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// missingDashesHint recognises the most likely mistake, a server's command without "--"
// before it, and returns a message with the correct command line, or "".
func missingDashesHint(args []string, server serverCommand) string {
	switch {
	case server.given && len(args) == 0:
		return "the subcommand is missing; type  mcp-jail run -- " + shellWords(server.argv)
	case server.given && isSubcommand(args[0]):
		return ""
	case server.given: // "--" was one of the server's own arguments
		args = slices.Concat(args, []string{"--"}, server.argv)
	}
	if args[0] != "run" && args[0] != "plan" {
		if strings.HasPrefix(args[0], "-") || slices.ContainsFunc(subcommands(), func(s subcommand) bool {
			return config.Suggest(args[0], []string{s.name}) != "" && !isInPath(args[0]) // a misspelt subcommand
		}) || isSubcommand(args[0]) {
			return ""
		}
		return fmt.Sprintf("%s is not a subcommand of mcp-jail; to start it as a server, type  mcp-jail run -- %s", args[0], shellWords(args))
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "--"):
			if !strings.Contains(a, "=") {
				i++ // every flag of run and plan has a value
			}
		case strings.HasPrefix(a, "-"):
		case i+1 < len(args):
			return fmt.Sprintf("put -- before the command of the server: type  mcp-jail %s -- %s", shellWords(args[:i]), shellWords(args[i:]))
		}
	}
	return ""
}

// shellWords quotes arguments for a POSIX shell.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
