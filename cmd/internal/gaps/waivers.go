package gaps

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Waived returns the axes that flags of mcp-jail run accept.
func Waived(flags []string) []policy.Axis {
	given, err := cmdline.ParseRun(append([]string{"run"}, flags...))
	if err != nil {
		return nil
	}
	return known(given.Waive)
}

// Named returns the axes that words name, each of which may have several, separated by commas or
// blanks. The error is about a word that names none.
func Named(words []string) ([]policy.Axis, error) {
	names := strings.FieldsFunc(strings.Join(words, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	for _, name := range names {
		if !slices.Contains(policy.Axes(), policy.Axis(name)) {
			return nil, exit.UsageErrorf("--accept-gaps %s: a gap is on one of the axes %s; name each", name, cmdline.Axes())
		}
	}
	return known(names), nil
}

func known(names []string) (axes []policy.Axis) {
	for _, name := range names {
		axes = append(axes, policy.Axis(name))
	}
	return Ordered(axes)
}

// Waive returns flags of mcp-jail run that accept axes besides.
func Waive(flags []string, axes []policy.Axis) []string {
	var more []string
	for _, a := range axes {
		more = append(more, "--waive", string(a))
	}
	return append(slices.Clone(flags), more...)
}

// Unwaive returns flags of mcp-jail run without those that accept some axes.
func Unwaive(flags []string, axes []policy.Axis) (kept []string) {
	for i := 0; i < len(flags); i++ {
		words := flags[i : i+1]
		name, value, joined := strings.Cut(flags[i], "=")
		if !joined && strings.HasPrefix(name, "--") && i+1 < len(flags) {
			words, value = flags[i:i+2], flags[i+1]
			i++
		}
		if name != "--waive" || !slices.Contains(axes, policy.Axis(value)) {
			kept = append(kept, words...)
		}
	}
	return kept
}

// Without returns the axes of a list that are not in another one.
func Without(axes, others []policy.Axis) []policy.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a policy.Axis) bool { return slices.Contains(others, a) })
}

// Ordered returns axes in the order of policy.Axes, each once.
func Ordered(axes []policy.Axis) (ordered []policy.Axis) {
	for _, a := range policy.Axes() {
		if slices.Contains(axes, a) {
			ordered = append(ordered, a)
		}
	}
	return ordered
}

// Names returns axes as text, with a separator.
func Names(axes []policy.Axis, separator string) string {
	var names []string
	for _, a := range axes {
		names = append(names, string(a))
	}
	return strings.Join(names, separator)
}
