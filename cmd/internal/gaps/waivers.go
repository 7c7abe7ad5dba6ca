package gaps

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Waived returns the axes, and the words of systems, that flags of mcp-jail run accept.
func Waived(flags []string) []policy.Axis {
	given, err := cmdline.ParseRun(append([]string{"run"}, flags...))
	if err != nil {
		return nil
	}
	known := slices.DeleteFunc(given.Waive, func(w string) bool { return !slices.Contains(cmdline.Waivers(), w) })
	waivers, _ := cmdline.ParseWaivers("--waive", known)
	return policy.OrderWaivers(waivers)
}

// Has returns what a server accepts that an entry starts: by its flags, or by the file of the server, if it has one.
func Has(own *config.ServerFile, line clients.Wrapped) []policy.Axis {
	switch {
	case line.ID == "":
		return Waived(line.Flags)
	case own == nil:
		return nil
	}
	return policy.OrderWaivers(own.Server.Waive)
}

// Named returns the axes, and the words of systems, that the values of wrap --waive name. Each may have
// several, separated by commas or blanks. The error is about a word that is none.
func Named(words []string) ([]policy.Axis, error) {
	names := strings.FieldsFunc(strings.Join(words, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	waivers, err := cmdline.ParseWaivers("--waive", names)
	return policy.OrderWaivers(waivers), err
}

// NotNeeded returns those waivers of a server that this host does not need. The word of an operating system
// is never among them.
func NotNeeded(has, needs []policy.Axis) []policy.Axis {
	return slices.DeleteFunc(Without(has, needs), policy.Axis.IsPlatform)
}

// Without returns the axes of a list that are not in another one.
func Without(axes, others []policy.Axis) []policy.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a policy.Axis) bool { return slices.Contains(others, a) })
}

// OfSystems parts words into axes and words of operating systems.
func OfSystems(words []policy.Axis) (axes, systems []policy.Axis) {
	axes = slices.DeleteFunc(slices.Clone(words), policy.Axis.IsPlatform)
	return axes, Without(words, axes)
}

// Names returns axes as text, with a separator.
func Names(axes []policy.Axis, separator string) string {
	var names []string
	for _, a := range axes {
		names = append(names, string(a))
	}
	return strings.Join(names, separator)
}
