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
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// policyFlags are the policy of a server that is given in place.
type policyFlags struct {
	Workspace string   `long:"workspace" value-name:"DIR" unquote:"false" description:"Root of relative paths, and what the default policy grants. Default: the working directory."`
	Read      []string `long:"read" value-name:"PATH" unquote:"false" description:"Grant reading a file or directory. Repeatable. --read, --write, --execute and --net replace the default policy."`
	Write     []string `long:"write" value-name:"PATH" unquote:"false" description:"Grant reading and writing. Repeatable."`
	Execute   []string `long:"execute" value-name:"PATH" unquote:"false" description:"Grant reading and starting a program, or those in a directory. Repeatable; --write too, to change it."`
	Net       []string `long:"net" value-name:"HOST[:PORT]" unquote:"false" description:"Grant a host. Repeatable."`
	Env       []string `long:"env" value-name:"NAME" unquote:"false" description:"Forward a variable (NAME, or PREFIX*). Repeatable; adds to the policy."`
	Limit     []string `long:"limit" value-name:"KEY=NUMBER" unquote:"false" description:"Set a limit, as memory_mb=8192. Repeatable; adds to the policy."`
	Home      string   `long:"home" value-name:"real" unquote:"false" description:"private (default): a HOME of the server's own; real: the variable names yours."`
	Startup   string   `long:"startup-timeout" value-name:"SECS" unquote:"false" description:"How long the first answer may take, in seconds. Default: 60; 0 waits for ever."`
	Name      string   `long:"name" value-name:"NAME" unquote:"false" description:"Name of the server: its private HOME and its records. Default: from the command."`
}

func (f policyFlags) firstSet() string {
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"--read", f.Read != nil}, {"--write", f.Write != nil}, {"--execute", f.Execute != nil}, {"--net", f.Net != nil},
		{"--env", f.Env != nil}, {"--limit", f.Limit != nil}, {"--home", f.Home != ""}, {"--name", f.Name != ""},
		{"--startup-timeout", f.Startup != ""},
	} {
		if c.set {
			return c.name
		}
	}
	return ""
}

// commonFlags choose the configuration and accept gaps.
type commonFlags struct {
	Config []string `long:"config" value-name:"FILE" unquote:"false" description:"Read only this configuration file. Repeatable, later ones win."`
	Waive  []string `long:"waive" value-name:"AXIS" unquote:"false" description:"Start although this axis (fs, net, ipc, process, env, limits) cannot be enforced. Repeatable; each is a warning at every start."`
}

// serverArg names the server that run and plan are about.
type serverArg struct {
	Server string `positional-arg-name:"<server>" description:"A configured server. Without it, the command behind --."`
}

// fileArg names the file that trust and untrust are about.
type fileArg struct {
	File string `positional-arg-name:"<file>" description:"The policy file. Default: .mcp-jail.toml in the working directory."`
}

// expandHome are files as they were typed, which is how errors name them. Clients
// start no shell, so a ~ is still one.
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

// absolutePath is a file of the command line, for those who open it themselves.
func absolutePath(file string) (string, error) {
	files, err := expandHome([]string{file})
	if err != nil {
		return "", err
	}
	return filepath.Abs(files[0])
}

// absolutePaths are the same files for those who do not know the working directory.
func absolutePaths(files []string) (out []string) {
	for _, f := range files {
		if abs, err := filepath.Abs(f); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

func (f commonFlags) axes() ([]policy.Axis, error) {
	var axes []policy.Axis
	for _, w := range f.Waive {
		a := policy.Axis(w)
		if !slices.Contains(policy.Axes(), a) {
			return nil, usageErrorf("--waive %s: the axes are %s; there is no way to waive all of them at once", w, joinAxes(policy.Axes()))
		}
		axes = append(axes, a)
	}
	return axes, nil
}

func joinAxes(axes []policy.Axis) string {
	s := make([]string, len(axes))
	for i, a := range axes {
		s[i] = string(a)
	}
	return strings.Join(s, ", ")
}

// formatFlag selects machine output.
type formatFlag struct {
	Format string `long:"format" value-name:"json" unquote:"false" enum:"text,json" default:"text" description:"text (default) or json."`
}

// serverCommand is the part of the command line behind "--", which no flag parser may
// touch: it belongs to the server.
type serverCommand struct {
	argv       []string
	given      bool
	invocation []string // all of the words, mcp-jail's first
}

// runProgram is the program without its process: arguments in, exit status out, and the signal
// by which to end where there is one. Output that is not complete is no success.
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

// exitAs has the program end as a server has, or as a signal wanted it.
func (c console) exitAs(exit confine.Exit) error {
	*c.exitSignal = exit.Signal
	return reportedStatus(exit.Code)
}

// programName is how this program was called.
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
	switch { // what people type first
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
		launcher.Ready = launcher.Prepare()
		defer launcher.Ready.Discard()
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
			return reportMisuse(c, args, server, fmt.Errorf("%s takes no command behind --", args[0]))
		}
		err = k.Run(c)
	default:
		panic("no way to run " + args[0])
	}
	return reportError(c, err)
}

// parseSimpleRun reads what most configurations of clients say, run SERVER or run --
// COMMAND, without the grammar: the first use of its code is dear. nil: there is more to read.
func parseSimpleRun(args []string, server serverCommand) *runCmd {
	switch {
	case len(args) == 1 && server.given:
		return &runCmd{}
	case len(args) == 2 && !server.given && args[1] != "" && args[1][0] != '-':
		return &runCmd{serverArg: serverArg{args[1]}}
	}
	return nil
}

// reportMisuse ends with status 2. A client that meant to run a server gets the
// reason as the answer to its first request.
func reportMisuse(c console, args []string, server serverCommand, err error) int {
	msg := err.Error()
	client := len(args) == 0 || args[0] == "run"
	if hint := missingDashesHint(args, server); hint != "" {
		msg = hint
		// What is no command of ours is a server's, with run and -- forgotten.
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

// isInPath tells whether a word is the name of one.
func isInPath(word string) bool {
	_, err := exec.LookPath(word)
	return err == nil
}

// missingDashesHint recognises the most likely mistake, a server's command that does
// not stand behind "--", and says how it is written.
func missingDashesHint(args []string, server serverCommand) string {
	switch {
	case server.given && len(args) == 0:
		return "the command is missing; write  mcp-jail run -- " + shellWords(server.argv)
	case server.given && isSubcommand(args[0]):
		return ""
	case server.given: // the -- is among the server's arguments
		args = slices.Concat(args, []string{"--"}, server.argv)
	}
	if args[0] != "run" && args[0] != "plan" {
		if strings.HasPrefix(args[0], "-") || slices.ContainsFunc(subcommands(), func(s subcommand) bool {
			return config.Nearest(args[0], []string{s.name}) != "" && !isInPath(args[0]) // meant to be one of ours
		}) || isSubcommand(args[0]) {
			return ""
		}
		return fmt.Sprintf("%s is no command of mcp-jail; to start it as a server, write  mcp-jail run -- %s", args[0], shellWords(args))
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "--"):
			if !strings.Contains(a, "=") {
				i++ // every flag of these two has a value
			}
		case strings.HasPrefix(a, "-"):
		case i+1 < len(args):
			return fmt.Sprintf("the command of a server stands behind --; write  mcp-jail %s -- %s", shellWords(args[:i]), shellWords(args[i:]))
		}
	}
	return ""
}

// shellWords writes arguments as they are typed into a shell.
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
