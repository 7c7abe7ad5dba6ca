package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// OptionsText returns the answer to COMMAND --help: the usage, and a line for each option.
func OptionsText(cmd *cobra.Command, width int) string {
	rows := append(flagRows(cmd, false), [2]string{"  -h, --help", "This list. More: mcp-jail help " + cmd.Name()})
	return terminal.Item("Usage: ", strings.Repeat(" ", 11), cmd.UseLine(), width) + Reflow(cmd.Short, width) + "\n" + terminal.Rows(rows, width)
}

// HelpText returns the whole help of a command in lines of at most width characters. Examples stay
// whole: users copy them.
func HelpText(cmd *cobra.Command, width int) string {
	text := terminal.Item("Usage: ", strings.Repeat(" ", 11), cmd.UseLine(), width) + "\n" + Reflow(cmd.Short, width) + "\n"
	if cmd.Long != "" {
		text += "\n" + Reflow(cmd.Long, width) + "\n"
	}
	if cmd.Example != "" {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	if rows := flagRows(cmd, false); len(rows) > 0 {
		text += terminal.Table("Options", rows, width)
	}
	return text
}

// RulesText returns the options about what a server may use, which run, plan and grant take.
func RulesText(width int) string {
	cmd := &cobra.Command{}
	cmd.Flags().SortFlags = false
	AddFlags(cmd, (&cmdline.PolicyFlags{}).Flags()...)
	return Reflow("These options of `mcp-jail run`, `plan` and `grant` say what a server may use. Those with *\n"+
		"may be given several times.", width) + "\n\n" + terminal.Rows(flagRows(cmd, true), width)
}

// ruleMark marks a flag that says what a server may use.
const ruleMark = "rule"

// flagRows returns a row for each flag of a command: those of rules, or the others. Neighbours with the
// same text share a row.
func flagRows(cmd *cobra.Command, rules bool) (rows [][2]string) {
	hasRules := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, rule := f.Annotations[ruleMark]
		hasRules = hasRules || rule
		if f.Name == "help" || f.Hidden || rule != rules {
			return
		}
		name := "--" + f.Name
		if f.NoOptDefVal == "" {
			name += "=" + f.Value.Type()
		}
		if n := len(rows); n > 0 && rows[n-1][1] == f.Usage {
			rows[n-1][0] += ", " + name
			return
		}
		rows = append(rows, [2]string{"  " + name, f.Usage})
	})
	if hasRules && !rules {
		rows = append(rows, [2]string{"  --read=PATH, --net=HOST …", "What the server may use: mcp-jail help rules"})
	}
	return rows
}

// item matches a line of a list in a help text: a word, two spaces or more, what it means.
var item = show.Pattern(`^( +\S+(?: \S+)* {2,})(\S.*)$`)

// Reflow fills the lines of a text anew. A line that is indented begins something else: an item of a
// list, whose meaning goes on where the next lines have the same column, or else a line that users
// copy, which stays whole.
func Reflow(text string, width int) string {
	var b strings.Builder
	var first, words string // of the paragraph or the item that is being read
	flush := func() {
		if words != "" {
			b.WriteString(terminal.Item(first, strings.Repeat(" ", utf8.RuneCountInString(first)), words, width))
		}
		first, words = "", ""
	}
	for _, line := range strings.Split(text, "\n") {
		body := strings.TrimLeft(line, " ")
		indent := len(line) - len(body)
		switch m := item().FindStringSubmatch(line); {
		case body == "":
			flush()
			b.WriteByte('\n')
		case words != "" && indent == utf8.RuneCountInString(first):
			words += " " + body
		case indent == 0:
			flush()
			words = body
		case m != nil:
			flush()
			first, words = m[1], m[2]
		default:
			flush()
			b.WriteString(line + "\n")
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// textFlag makes a flag of package cmdline a flag of the library.
type textFlag struct{ cmdline.Flag }

func (f textFlag) String() string { return "" } // no default: the usage names it

func (f textFlag) Type() string { return f.Value }

// AddFlags adds flags with values to a command, and the words that a shell may propose for
// them.
func AddFlags(cmd *cobra.Command, flags ...cmdline.Flag) {
	for _, f := range flags {
		cmd.Flags().Var(textFlag{f}, f.Name, f.Usage)
		if f.Rule {
			cmd.Flags().SetAnnotation(f.Name, ruleMark, nil) // never fails: the flag has just been added
		}
		if words := proposals(f); words != nil {
			Propose(cmd, f.Name, words)
		}
	}
}

// FormatFlag returns the flag that selects text or JSON.
func FormatFlag(format *string) cmdline.Flag {
	return cmdline.Flag{Name: "format", Value: "json", One: format, Words: []string{"text", "json"}, Usage: "text (default) or json"}
}

// durationFlag is a flag whose value is a duration.
type durationFlag struct{ value *time.Duration }

// Duration makes a flag whose value is a duration.
func Duration(value *time.Duration) pflag.Value { return durationFlag{value} }

func (f durationFlag) String() string { return "" }

func (f durationFlag) Type() string { return "60s" }

func (f durationFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%s; write it like 60s or 2m", strings.TrimPrefix(err.Error(), "time: "))
	}
	*f.value = d
	return nil
}

// FlagError returns an error of the library in the words of package cmdline.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		typed := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			typed = "-" + short
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return cmdline.UnknownFlag(typed, names)
	case errors.As(err, &missing):
		return cmdline.CheckValue(missing.GetSpecifiedName(), nil)
	case errors.As(err, &invalid) && errors.Is(err, strconv.ErrSyntax):
		return fmt.Errorf("--%s must be true or false but got %q", invalid.GetFlag().Name, invalid.GetValue())
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == durationFlag{}.Type():
		return fmt.Errorf("--%s: %w", invalid.GetFlag().Name, invalid.Unwrap())
	case errors.As(err, &invalid):
		return invalid.Unwrap()
	}
	return err
}

// CheckWords returns an error for an empty argument, and for a flag in the place where the value
// of another flag belongs. The library would take it for that value.
func CheckWords(flags *pflag.FlagSet, args []string) error {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "--")
		if !isFlag {
			if err := cmdline.CheckArgument(args[i]); err != nil {
				return err
			}
			continue
		}
		f := flags.Lookup(name)
		if f == nil || f.NoOptDefVal != "" {
			continue
		}
		i++
		if _, mayBeNegative := f.Value.(durationFlag); mayBeNegative {
			continue
		}
		if err := cmdline.CheckValue(name, args[i:]); err != nil {
			return err
		}
	}
	return nil
}
