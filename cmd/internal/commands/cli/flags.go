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
	if f.Rule {
		cmd.Flags().SetAnnotation(f.Name, ruleMark, nil) // never fails: the flag has just been added
	}
	if words != nil {
		Propose(cmd, f.Name, words)
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
