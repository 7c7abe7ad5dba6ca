package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jessevdk/go-flags"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// policyFlags are the policy of a server whose command is given behind "--".
type policyFlags struct {
	Workspace string   `long:"workspace" value-name:"DIR" unquote:"false" description:"The directory that relative paths start from and that the default policy grants. Default: the working directory."`
	Read      []string `long:"read" value-name:"PATH" unquote:"false" description:"Grant reading a file or directory. Repeatable. Any of --read, --write, --execute and --net replaces the default policy."`
	Write     []string `long:"write" value-name:"PATH" unquote:"false" description:"Grant reading and writing. Repeatable."`
	Execute   []string `long:"execute" value-name:"PATH" unquote:"false" description:"Grant reading and executing a program, or the programs in a directory. Repeatable; add --write to let the server change it."`
	Net       []string `long:"net" value-name:"HOST[:PORT]" unquote:"false" description:"Grant connections to a host. Repeatable."`
	Env       []string `long:"env" value-name:"NAME" unquote:"false" description:"Pass an environment variable (NAME or PREFIX*) to the server. Repeatable; keeps the default policy."`
	Limit     []string `long:"limit" value-name:"KEY=NUMBER" unquote:"false" description:"Set a limit, such as memory_mb=8192. Repeatable; keeps the default policy."`
	Home      string   `long:"home" value-name:"real" unquote:"false" description:"private (default): the server gets a HOME of its own; real: the variable HOME names yours."`
	Startup   string   `long:"startup-timeout" value-name:"SECS" unquote:"false" description:"How many seconds the first response of the server may take. Default: 60; 0 waits for ever."`
	Name      string   `long:"name" value-name:"NAME" unquote:"false" description:"The name of the server, under which its private HOME and its records are kept. Default: derived from the command."`
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

// commonFlags choose the configuration files and waive gaps.
type commonFlags struct {
	Config []string `long:"config" value-name:"FILE" unquote:"false" description:"Read only this configuration file. Repeatable; later files override earlier ones."`
	Waive  []string `long:"waive" value-name:"AXIS" unquote:"false" description:"Start even if this axis (fs, net, ipc, process, env, limits) cannot be enforced. Repeatable; every start warns of it."`
}

func (f commonFlags) axes() ([]policy.Axis, error) {
	var axes []policy.Axis
	for _, w := range f.Waive {
		a := policy.Axis(w)
		if !slices.Contains(policy.Axes(), a) {
			return nil, usageErrorf("--waive %s: an axis is one of %s; each has to be named", w, joinAxes(policy.Axes()))
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

// serverArg is the argument of run and plan.
type serverArg struct {
	Server string `positional-arg-name:"<server>" description:"The name of a configured server. Without it, give a command behind --."`
}

// fileArg is the argument of trust and untrust.
type fileArg struct {
	File string `positional-arg-name:"<file>" description:"The policy file. Default: .mcp-jail.toml in the working directory."`
}

// formatFlag selects text or JSON.
type formatFlag struct {
	Format string `long:"format" value-name:"json" unquote:"false" enum:"text,json" default:"text" description:"text (default) or json."`
}

// subcommand is the first word after mcp-jail. Its help text says what it is for, what
// its flags mean, and gives an example.
type subcommand struct {
	name, help string
	flags      any // a pointer to the struct of its flags, which has the method Run
}

func subcommands() []subcommand {
	return []subcommand{
		{"run", "Start a server in its jail and relay MCP messages between the client and the server.", &runCmd{}},
		{"check", "Check a configuration for mistakes; --probe also starts each server in its jail.", &checkCmd{}},
		{"plan", "Show what a server may do, path by path, and what enforces it. Starts nothing.", &planCmd{}},
		{"doctor", "Show which kernel features jails can use here, and build a jail to test them.", &doctorCmd{}},
		{"why", "Explain what failed or was refused in the last session of a server, and how to grant it.", &whyCmd{}},
		{"trust", "Accept the current policy file of a project.", &trustCmd{}},
		{"untrust", "Withdraw the acceptance of a project's policy file.", &untrustCmd{}},
		{"version", "Print the version and the features of the running kernel.", &versionCmd{}},
	}
}

// findSubcommand returns the subcommand of this name, or an error that suggests one.
func findSubcommand(name string) (subcommand, error) {
	all := subcommands()
	var names []string
	for _, s := range all {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	if strings.HasPrefix(name, "-") {
		return subcommand{}, unknownFlag(name, []string{"help", "version"})
	}
	return subcommand{}, fmt.Errorf("unexpected argument %s%s", name, didYouMean("", name, names))
}

func unknownFlag(typed string, names []string) error {
	return fmt.Errorf("unknown flag %s%s", typed, didYouMean("--", strings.TrimLeft(typed, "-"), names))
}

func didYouMean(dashes, word string, names []string) string {
	if near := config.Suggest(word, names); near != "" {
		return fmt.Sprintf(", did you mean %q?", dashes+near)
	}
	return ""
}

// parser returns the parser of the flags and arguments of s. File help.go writes the
// help, since the library's has lines of any length and no examples.
func (s subcommand) parser() *flags.Parser {
	p := flags.NewNamedParser("mcp-jail", flags.AllowBoolValues)
	if _, err := p.AddGroup("Flags", "", s.flags); err != nil {
		panic(err) // a wrong struct tag: every test would fail
	}
	return p
}

func options(p *flags.Parser) []*flags.Option { return p.Groups()[0].Options() }

// parse parses args into the struct of the subcommand that they name.
func parse(args []string) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("the name of a command is missing")
	}
	s, err := findSubcommand(args[0])
	if err != nil {
		return nil, err
	}
	p := s.parser()
	p.UnknownOptionHandler = func(name string, _ flags.SplitArgument, _ []string) ([]string, error) {
		names := []string{"help"}
		for _, o := range options(p) {
			names = append(names, o.LongName)
		}
		typed := "-" + name
		if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--"+name) }) {
			typed = "--" + name
		}
		return nil, unknownFlag(typed, names)
	}
	rest, err := parseArgs(p, args[1:])
	if err != nil {
		return nil, plainError(p, err)
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("unexpected argument %s", rest[0])
	}
	if err := checkNotEmpty(p, args); err != nil {
		return nil, err
	}
	return s.flags, checkEnums(p)
}

// parseArgs parses args with GO_FLAGS_COMPLETION unset: if it were set, the library would
// print completions and end the program.
func parseArgs(p *flags.Parser, args []string) ([]string, error) {
	const completion = "GO_FLAGS_COMPLETION"
	if value, set := os.LookupEnv(completion); set {
		os.Unsetenv(completion)
		defer os.Setenv(completion, value)
	}
	return p.ParseArgs(args)
}

// plainError rewords an error of the library: without quotes around flags, and without
// Go's names of types.
func plainError(p *flags.Parser, err error) error {
	msg := err.Error()
	for _, o := range options(p) {
		msg = strings.ReplaceAll(msg, "`"+o.String()+"'", o.String())
	}
	if before, after, ok := strings.Cut(msg, " (expected time.Duration): time: "); ok {
		msg = before + ": " + after + "; write it like 60s or 2m"
	}
	return errors.New(msg)
}

// checkEnums returns an error if a flag has a value that its tag enum does not list.
func checkEnums(p *flags.Parser) error {
	for _, o := range options(p) {
		enum, ok := o.Field().Tag.Lookup("enum")
		if !ok || !o.IsSet() {
			continue
		}
		if !slices.Contains(strings.Split(enum, ","), o.Value().(string)) {
			words := strings.ReplaceAll(enum, ",", ", ")
			return fmt.Errorf("%s must be one of %s but got %q", o, words, o.Value())
		}
	}
	return nil
}

// checkNotEmpty returns an error if a flag or an argument is given and empty, usually from
// an unset variable. The default, which would apply otherwise, is not what the user asked for.
func checkNotEmpty(p *flags.Parser, args []string) error {
	for _, o := range options(p) {
		values, many := o.Value().([]string)
		if _, enum := o.Field().Tag.Lookup("enum"); !enum && o.IsSet() && (o.Value() == "" || many && slices.Contains(values, "")) {
			return fmt.Errorf("%s has an empty value (from an unset variable?); leave the flag out to get its default", o)
		}
	}
	for i := 1; i < len(args); i++ {
		before := args[i-1]
		if takesNext := strings.HasPrefix(before, "--") && !strings.Contains(before, "="); args[i] == "" && !takesNext {
			return errors.New("an argument is empty (from an unset variable?); leave it out, or give it a value")
		}
	}
	return nil
}
