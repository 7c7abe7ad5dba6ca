package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Exit statuses. run passes the server's own on.
const (
	exitFine     = 0
	exitFindings = 1 // findings, or the server failed
	exitUsage    = 2 // usage or configuration error
	exitHost     = 3 // this host cannot enforce the policy
)

// cli is the command line. The help texts are part of the manual: each says
// what a command is for and what its flags mean, with an example.
type cli struct {
	Run     runCmd     `cmd:"" help:"Start a server in its jail and relay MCP between it and standard input and output."`
	Check   checkCmd   `cmd:"" help:"Validate configuration; with --probe also start every server in its jail and list its tools."`
	Plan    planCmd    `cmd:"" help:"Print what will be enforced for a server: paths with their rights, hosts, variables, and by which mechanism."`
	Doctor  doctorCmd  `cmd:"" help:"Say what this host can enforce, what is missing and how to get it."`
	Why     whyCmd     `cmd:"" help:"Say what was refused in the last session of a server, and which lines would grant it."`
	Trust   trustCmd   `cmd:"" help:"Accept a project's policy file as it is now."`
	Untrust untrustCmd `cmd:"" help:"Take the acceptance of a project's policy file back."`
	Version versionCmd `cmd:"" help:"Print the version, and what the running kernel offers."`
}

const description = `mcp-jail runs stdio MCP servers in a kernel-enforced jail (Landlock, seccomp, namespaces).

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
	Config []string `placeholder:"FILE" sep:"none" type:"path" help:"Read only this configuration file. Repeatable, later ones win."`
	Waive  []string `placeholder:"AXIS" sep:"none" help:"Start although this axis (fs, net, ipc, process, env, limits) cannot be enforced. Repeatable; each is a warning at every start."`
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

// usageError is a mistake on the command line: exit status 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// silent is an exit status whose reason was already told.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

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
	launcher := confine.Launcher{}
	if len(args) > 0 && args[0] == "run" && !wantsHelp(args) {
		// The jail's init starts while the command line and the policy are read.
		launcher.Ready = launcher.Prepare()
		defer launcher.Ready.Discard()
	}
	var grammar cli
	exited := -1
	parser, err := kong.New(&grammar,
		kong.Name("mcp-jail"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(c.err, c.err), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, Summary: false, WrapUpperBound: 100}),
		kong.Bind(c, server, launcher),
	)
	if err != nil {
		panic(err) // the grammar is wrong: every test would show it
	}
	if wantsHelp(args) {
		parser.Stdout = c.out
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	ctx, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		c.errorf("%s", err)
		fmt.Fprintln(c.err, "Run  mcp-jail --help  or  mcp-jail COMMAND --help.")
		return refuse(args, c, err)
	}
	if server.given && ctx.Selected().Name != "run" && ctx.Selected().Name != "plan" {
		c.errorf("%s takes no command behind --", ctx.Selected().Name)
		return exitUsage
	}
	return status(c, ctx.Run())
}

func wantsHelp(args []string) bool {
	return len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h")
}

// refuse ends with status 2; a client that started `run` gets the reason as the
// answer to its first request, since most clients never show stderr.
func refuse(args []string, c console, err error) int {
	if len(args) > 0 && args[0] == "run" {
		answerFailure(c, "", err)
	}
	return exitUsage
}

// status maps an error to the exit status and tells it.
func status(c console, err error) int {
	var (
		quiet    silent
		usage    *usageError
		problems policy.Problems
		gaps     *confine.GapError
	)
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.As(err, &gaps):
		c.errorf("%s", err)
		return exitHost
	case errors.As(err, &usage), errors.As(err, &problems):
		c.errorf("%s", err)
		return exitUsage
	case isConfigError(err):
		c.errorf("%s", err)
		return exitUsage
	}
	c.errorf("%s", err)
	return exitFindings
}

// isConfigError tells errors that the user's configuration caused.
func isConfigError(err error) bool {
	var unknown *policy.UnknownServerError
	var untrusted *policy.UntrustedError
	var conflict *policy.ConflictError
	var rule *policy.RuleError
	var workspace *policy.WorkspaceError
	return errors.As(err, &unknown) || errors.As(err, &untrusted) || errors.As(err, &conflict) ||
		errors.As(err, &rule) || errors.As(err, &workspace) || errors.Is(err, os.ErrNotExist)
}
