package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// cli is the command line. The help texts are part of the manual: each says
// what a command is for and what its flags mean, with an example.
type cli struct {
	Run     runCmd     `cmd:"" help:"Start a server in its jail and relay MCP between it and standard input and output."`
	Check   checkCmd   `cmd:"" help:"Find the mistakes of a configuration; --probe also tries its servers out, each in its jail."`
	Plan    planCmd    `cmd:"" help:"Show what a server would be allowed, path by path, and what enforces that. Starts nothing."`
	Doctor  doctorCmd  `cmd:"" help:"Ask the kernel for what jails are made of, and build one to see."`
	Why     whyCmd     `cmd:"" help:"Tell how the last session of a server went, and which lines would help."`
	Trust   trustCmd   `cmd:"" help:"Accept the policy file of a project as it is now."`
	Untrust untrustCmd `cmd:"" help:"Take the acceptance of a project's policy file back."`
	Version versionCmd `cmd:"" help:"Print the version, and what the running kernel offers."`
}

const description = `Run stdio MCP servers in a kernel-enforced jail (Landlock, seccomp, namespaces).

In a client's configuration, replace  "command": "npx", "args": ["-y", "PACKAGE"]
by  "command": "mcp-jail", "args": ["run", "--", "npx", "-y", "PACKAGE"].`

// policyFlags are the policy of a server that is given in place.
type policyFlags struct {
	Workspace string   `placeholder:"DIR" help:"Root of relative paths, and what the default policy grants. Default: the working directory."`
	Read      []string `placeholder:"PATH" sep:"none" help:"Grant reading a file or directory. Repeatable. --read, --write and --net replace the default policy."`
	Write     []string `placeholder:"PATH" sep:"none" help:"Grant reading and writing. Repeatable."`
	Net       []string `placeholder:"HOST[:PORT]" sep:"none" help:"Grant a host. Repeatable."`
	Env       []string `placeholder:"NAME" sep:"none" help:"Forward a variable (NAME, or PREFIX*). Repeatable; adds to the policy."`
	Home      string   `placeholder:"real" help:"private (default): a HOME of the server's own; real: the variable names yours."`
	Name      string   `placeholder:"NAME" help:"Name of the server: its private HOME and its records. Default: from the command."`
}

func (f policyFlags) given() string {
	for _, c := range []struct {
		name string
		set  bool
	}{
		{"--read", f.Read != nil}, {"--write", f.Write != nil}, {"--net", f.Net != nil},
		{"--env", f.Env != nil}, {"--home", f.Home != ""}, {"--name", f.Name != ""},
	} {
		if c.set {
			return c.name
		}
	}
	return ""
}

// commonFlags choose the configuration and accept gaps.
type commonFlags struct {
	Config []string `placeholder:"FILE" sep:"none" help:"Read only this configuration file. Repeatable, later ones win."`
	Waive  []string `placeholder:"AXIS" sep:"none" help:"Start although this axis (fs, net, ipc, process, env, limits) cannot be enforced. Repeatable; each is a warning at every start."`
}

// typed are files as they were typed, which is how errors name them. Clients
// start no shell, so a ~ is still one.
func typed(files []string) ([]string, error) {
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

// absolute are the same files for those who do not know the working directory.
func absolute(files []string) (out []string) {
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
	Format string `enum:"text,json" default:"text" placeholder:"json" help:"text (default) or json."`
}

// command is the part of the command line behind "--", which no flag parser may
// touch: it belongs to the server.
type command struct {
	argv  []string
	given bool
}

// run is the program without its process: arguments in, exit status out.
func run(args []string, c console) int {
	var server command
	if i := slices.Index(args, "--"); i >= 0 {
		args, server = args[:i], command{args[i+1:], true}
	}
	c = c.withColours()
	switch { // what people type first
	case len(args) == 0 && !server.given, len(args) == 1 && args[0] == "help":
		args = []string{"--help"}
	case len(args) == 2 && args[0] == "help":
		args = []string{args[1], "--help"}
	case len(args) == 1 && args[0] == "--version":
		args = []string{"version"}
	}
	// Standard output is for what was asked for.
	asked := slices.Contains(args, "--help") || slices.Contains(args, "-h")
	launcher := confine.Launcher{}
	if len(args) > 0 && args[0] == "run" && !asked {
		// The jail's init starts while the command line and the policy are read.
		launcher.Ready = launcher.Prepare()
		defer launcher.Ready.Discard()
	}
	if launcher.Ready != nil {
		if r := plainRun(args, server); r != nil {
			return status(c, r.Run(c, server, launcher))
		}
	}
	var grammar any = &cli{}
	if launcher.Ready != nil {
		// Building all of the grammar takes longer than building a jail's mounts.
		grammar = &struct {
			Run runCmd `cmd:""`
		}{}
	}
	exited := -1
	parser, err := kong.New(grammar,
		kong.Name("mcp-jail"), kong.Description(description),
		kong.Writers(c.err, c.err), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: helpWidth}),
		kong.Bind(c, server, launcher),
	)
	if err != nil {
		panic(err) // the grammar is wrong: every test would show it
	}
	parser.Model.HelpFlag.Help = "Show this help."
	if asked {
		parser.Stdout = c.out
	}
	ctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err == nil && server.given && ctx.Selected().Name != "run" && ctx.Selected().Name != "plan" {
		err = fmt.Errorf("%s takes no command behind --", ctx.Selected().Name)
	}
	if err != nil {
		return misused(c, args, server, err)
	}
	return status(c, ctx.Run())
}

// plainRun reads what most configurations of clients say, run SERVER or run --
// COMMAND, without the grammar: building that and following it takes as long as the
// kernel does for all of the jail's namespaces. nil: there is more to read.
func plainRun(args []string, server command) *runCmd {
	switch {
	case len(args) == 1 && server.given:
		return &runCmd{}
	case len(args) == 2 && !server.given && args[1] != "" && args[1][0] != '-':
		return &runCmd{Server: args[1]}
	}
	return nil
}

// helpWidth is where help is wrapped on a wide terminal.
const helpWidth = 100

// misused ends with status 2. A client that meant to run a server gets the
// reason as the answer to its first request.
func misused(c console, args []string, server command, err error) int {
	msg := err.Error()
	if hint := withoutDashes(args, server); hint != "" {
		msg = hint
	}
	if len(args) == 0 || args[0] == "run" {
		answerFailure(c, nil, "", usageErrorf("%s", msg))
		return exitUsage
	}
	c.errorf("%s\nRun  mcp-jail --help  or  mcp-jail COMMAND --help", msg)
	return exitUsage
}

// withoutDashes recognises the most likely mistake, a server's command that does
// not stand behind "--", and says how it is written.
func withoutDashes(args []string, server command) string {
	if server.given {
		if len(args) == 0 {
			return "the command is missing; write  mcp-jail run -- " + shellWords(server.argv)
		}
		return ""
	}
	if args[0] != "run" && args[0] != "plan" {
		return ""
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
