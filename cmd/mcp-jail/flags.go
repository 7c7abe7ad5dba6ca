package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jessevdk/go-flags"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// subcommand is one word that may follow mcp-jail. The help texts are part of the
// manual: each says what a command is for and what its flags mean, with an example.
type subcommand struct {
	name, help string
	flags      any // a pointer to what it is told, which has its method Run
}

func subcommands() []subcommand {
	return []subcommand{
		{"run", "Start a server in its jail and relay MCP between it and standard input and output.", &runCmd{}},
		{"check", "Find the mistakes of a configuration; --probe also tries its servers out, each in its jail.", &checkCmd{}},
		{"plan", "Show what a server would be allowed, path by path, and what enforces that. Starts nothing.", &planCmd{}},
		{"doctor", "Ask the kernel for what jails are made of, and build one to see.", &doctorCmd{}},
		{"why", "Tell how the last session of a server went, and which lines would help.", &whyCmd{}},
		{"trust", "Accept the policy file of a project as it is now.", &trustCmd{}},
		{"untrust", "Take the acceptance of a project's policy file back.", &untrustCmd{}},
		{"version", "Print the version, and what the running kernel offers.", &versionCmd{}},
	}
}

// findSubcommand is the one of this name, or the error that says which may be meant.
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
	if near := config.Nearest(word, names); near != "" {
		return fmt.Sprintf(", did you mean %q?", dashes+near)
	}
	return ""
}

// parser reads the flags and the positional arguments of s. Help and the words of
// errors are not the library's: its help has lines of any length and no examples.
func (s subcommand) parser() *flags.Parser {
	p := flags.NewNamedParser("mcp-jail", flags.AllowBoolValues)
	if _, err := p.AddGroup("Flags", "", s.flags); err != nil {
		panic(err) // the grammar is wrong: every test would show it
	}
	return p
}

func options(p *flags.Parser) []*flags.Option { return p.Groups()[0].Options() }

// parse reads args into what the command that they name is told.
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

// parseArgs parses under any environment: with this variable the library would print
// completions instead, and end the program.
func parseArgs(p *flags.Parser, args []string) ([]string, error) {
	const completion = "GO_FLAGS_COMPLETION"
	if value, set := os.LookupEnv(completion); set {
		os.Unsetenv(completion)
		defer os.Setenv(completion, value)
	}
	return p.ParseArgs(args)
}

// plainError takes the library's quotation marks from around the names of flags, and Go's
// words from around a duration.
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

// checkEnums is the error about a flag that has another value than those of its
// tag enum.
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

// checkNotEmpty is the error about a flag or an argument that is given and empty, such as
// a variable that is not set: left aside, it would be what nobody typed, the default.
func checkNotEmpty(p *flags.Parser, args []string) error {
	for _, o := range options(p) {
		values, many := o.Value().([]string)
		if _, enum := o.Field().Tag.Lookup("enum"); !enum && o.IsSet() && (o.Value() == "" || many && slices.Contains(values, "")) {
			return fmt.Errorf("%s has an empty value (a variable that is not set?); leave the flag out for its default", o)
		}
	}
	for i := 1; i < len(args); i++ {
		before := args[i-1]
		if takesNext := strings.HasPrefix(before, "--") && !strings.Contains(before, "="); args[i] == "" && !takesNext {
			return errors.New("an argument is empty (a variable that is not set?); leave it out, or say what is meant")
		}
	}
	return nil
}
