package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// textFlag makes a flag of package cmdline a flag of the library.
type textFlag struct{ cmdline.Flag }

func (f textFlag) String() string { return "" } // no default: the usage names it

func (f textFlag) Type() string { return f.Value }

// AddFlags adds flags with values to a command, and the words that a shell may propose for
// them.
func AddFlags(cmd *cobra.Command, flags ...cmdline.Flag) {
	for _, f := range flags {
		AddFlag(cmd, f, proposals(f))
	}
}

// AddFlag adds a flag. Without words the shell proposes files.
func AddFlag(cmd *cobra.Command, f cmdline.Flag, words cobra.CompletionFunc) {
	cmd.Flags().Var(textFlag{f}, f.Name, f.Usage)
	if words != nil {
		Propose(cmd, f.Name, words)
	}
}

// FormatFlag returns the flag that selects text or JSON.
func FormatFlag(format *string) cmdline.Flag {
	return cmdline.Flag{Name: "format", Value: "json", One: format, Words: []string{"text", "json"}, Usage: "text (default) or json."}
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
		return fmt.Errorf("invalid argument for flag --timeout: %s; write it like 60s or 2m", strings.TrimPrefix(err.Error(), "time: "))
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

// helpWidth is the width of help texts.
const helpWidth = 80

// HelpText returns the help of a command.
func HelpText(cmd *cobra.Command) string {
	text := "Usage: " + cmd.UseLine() + "\n\n" + strings.Join(wrap(cmd.Short, helpWidth), "\n") + "\n"
	if cmd.Long != "" {
		text += "\n" + cmd.Long + "\n"
	}
	if cmd.Example != "" {
		text += "\nExamples:\n" + cmd.Example + "\n"
	}
	return text + Table("Flags", FlagRows(cmd))
}

// FlagRows returns a row for each flag of a command, --help first.
func FlagRows(cmd *cobra.Command) (rows [][2]string) {
	rows = [][2]string{{"  -h, --help", "Show this help."}}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		name := "      --" + f.Name
		if f.NoOptDefVal == "" {
			name += "=" + f.Value.Type()
		}
		rows = append(rows, [2]string{name, f.Usage})
	})
	return rows
}

// Table returns a heading with rows of two columns below it.
func Table(heading string, rows [][2]string) string {
	left := 0
	for _, r := range rows {
		left = max(left, len(r[0])+2)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s:\n", heading)
	for _, r := range rows {
		for i, line := range wrap(r[1], helpWidth-left) {
			if i > 0 {
				r[0] = ""
			}
			fmt.Fprintf(&b, "%-*s%s\n", left, r[0], line)
		}
	}
	return b.String()
}

// wrap breaks text between words into lines of at most width bytes.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
