package cmdline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Flag is a flag that takes a value. The value goes to One, or is appended to Many.
type Flag struct {
	Name  string // without the dashes
	Value string // stands for the value in help texts, such as PATH
	Usage string
	Words []string // the values that are accepted; nil for all
	Rule  bool     // it says what a server may use

	One  *string
	Many *[]string
}

// Set stores a value of the flag.
func (f Flag) Set(value string) error {
	switch {
	case f.Words != nil && !slices.Contains(f.Words, value):
		return fmt.Errorf("--%s must be one of %s but got %q", f.Name, strings.Join(f.Words, ", "), value)
	case value == "":
		// The default, which would apply otherwise, is not what the user asked for.
		return fmt.Errorf("--%s has an empty value (from an unset variable?). Leave the flag out to get its default", f.Name)
	case f.Many != nil:
		*f.Many = append(*f.Many, value)
	default:
		*f.One = value
	}
	return nil
}

// Parse stores the values of the flags in args and returns the other words.
func Parse(args []string, flags []Flag) (words []string, err error) {
	for i := 0; i < len(args); i++ {
		if !isFlag(args[i]) {
			if err := CheckArgument(args[i]); err != nil {
				return nil, err
			}
			words = append(words, args[i])
			continue
		}
		typed, value, given := strings.Cut(args[i], "=")
		known := slices.IndexFunc(flags, func(f Flag) bool { return "--"+f.Name == typed })
		if known < 0 {
			names := []string{"help"}
			for _, f := range flags {
				names = append(names, f.Name)
			}
			return nil, UnknownFlag(typed, names)
		}
		if !given {
			i++
			if err := CheckValue(flags[known].Name, args[i:]); err != nil {
				return nil, err
			}
			value = args[i]
		}
		if err := flags[known].Set(value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// isFlag reports whether an argument is a flag, not a value. A single dash is a value.
func isFlag(arg string) bool {
	switch {
	case strings.HasPrefix(arg, "--"):
		return len(arg) > 2 && arg[2] != '-'
	default:
		return len(arg) > 1 && arg[0] == '-'
	}
}

// CheckValue returns an error if the arguments after a flag do not begin with its value. A
// value that begins with a dash is given as --flag=-value.
func CheckValue(flag string, after []string) error {
	switch {
	case len(after) == 0:
		return fmt.Errorf("the option --%s needs a value", flag)
	case isFlag(after[0]):
		return fmt.Errorf("the option --%s needs a value, and %s is an option", flag, after[0])
	}
	return nil
}

// CheckArgument returns an error for an empty argument.
func CheckArgument(arg string) error {
	if arg == "" {
		return errors.New("an argument is empty (from an unset variable?). Leave it out, or give it a value")
	}
	return nil
}

// UnknownFlag returns the error about a flag, as typed, that is none of names.
func UnknownFlag(typed string, names []string) error {
	if flag, _, two := strings.Cut(typed, " "); two && slices.Contains(names, strings.TrimLeft(flag, "-")) {
		return fmt.Errorf("there is no option %q: this is one word with a space in it. Write the option and its value as two words, or as --%s=VALUE", typed, strings.TrimLeft(flag, "-"))
	}
	word := strings.TrimLeft(typed, "-")
	// Too many names differ from a shorter one in two letters.
	if near := config.Suggest(word, names); near != "" && len(word) > 2 {
		return fmt.Errorf("there is no option %s. Did you mean --%s?", typed, near)
	}
	return fmt.Errorf("there is no option %s", typed)
}

// UnknownCommand returns the error about a word that is no command.
func UnknownCommand(word string) error {
	if strings.HasPrefix(word, "-") {
		return fmt.Errorf("%w. To see all commands:\n  mcp-jail help", UnknownFlag(word, []string{"help", "version"}))
	}
	near := config.Suggest(word, append(Commands(), "--version"))
	if near == "" {
		return fmt.Errorf("there is no command %q. To see all commands:\n  mcp-jail help", word)
	}
	return fmt.Errorf("there is no command %q. Did you mean:\n  mcp-jail %s", word, near)
}
