package granting

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Flag is a flag of mcp-jail run with its value.
type Flag struct {
	Name, Value string // the name has its dashes

	words []string // as it is written
}

// NewFlag returns a flag that is written as two words.
func NewFlag(name, value string) Flag {
	if strings.HasPrefix(value, "-") { // it would be read as the next flag
		return Flag{name, value, []string{name + "=" + value}}
	}
	return Flag{name, value, []string{name, value}}
}

// Split returns the flags that words hold.
func Split(words []string) (all []Flag) {
	for len(words) > 0 {
		f := Flag{words: words[:1]}
		var joined bool
		if f.Name, f.Value, joined = strings.Cut(words[0], "="); !joined && len(words) > 1 {
			f.Value, f.words = words[1], words[:2]
		}
		all, words = append(all, f), words[len(f.words):]
	}
	return all
}

// Words returns flags as words of a command line.
func Words(flags []Flag) (words []string) {
	for _, f := range flags {
		words = append(words, f.words...)
	}
	return words
}

// String returns the flag as it is typed in a shell.
func (f Flag) String() string {
	if f.IsPath() {
		return show.Flag(f.Name, f.Value)
	}
	return show.Typed(f.Name, f.Value)
}

// Texts returns the flags as they are typed in a shell.
func Texts(flags []Flag) (texts []string) {
	for _, f := range flags {
		texts = append(texts, f.String())
	}
	return texts
}

// IsPath reports whether the value of the flag is a path.
func (f Flag) IsPath() bool {
	return slices.Contains([]string{"--read", "--write", "--execute", "--deny", "--workspace"}, f.Name)
}

// IsTime reports whether the flag says how long mcp-jail waits for the server, which grants it nothing.
func (f Flag) IsTime() bool { return f.Name == "--startup-timeout" }

// replacesDefault reports whether a server with the flag does not get the default policy.
func (f Flag) replacesDefault() bool {
	return slices.Contains([]string{"--read", "--write", "--execute", "--net", "--preset"}, f.Name)
}

// IsDefault reports whether a server with these flags gets the default policy.
func IsDefault(flags []Flag) bool { return !slices.ContainsFunc(flags, Flag.replacesDefault) }

// slot returns what only one flag of a command line can set, or "" for a flag that is repeatable.
func (f Flag) slot() string {
	switch f.Name {
	case "--workspace", "--preset", "--home", "--startup-timeout", "--name":
		return f.Name
	case "--limit":
		key, _, _ := strings.Cut(f.Value, "=")
		return f.Name + " " + key
	}
	return ""
}

// Add returns flags with one more, at the end or in the place of the one that it replaces.
func Add(flags []Flag, f Flag) []Flag {
	flags = slices.Clone(flags)
	if i := f.replaced(flags); i >= 0 {
		flags[i] = f
		return flags
	}
	return append(flags, f)
}

// Replaced returns the flag that another one takes the place of.
func Replaced(flags []Flag, f Flag) (old Flag, ok bool) {
	if i := f.replaced(flags); i >= 0 {
		return flags[i], true
	}
	return Flag{}, false
}

func (f Flag) replaced(flags []Flag) int {
	return slices.IndexFunc(flags, func(o Flag) bool { return f.slot() != "" && o.slot() == f.slot() })
}

// Find returns the indexes of the flags of the scope that are the same as f.
func (s *Scope) Find(f Flag) (at []int) {
	for i, o := range s.Flags {
		if s.same(o, f) {
			at = append(at, i)
		}
	}
	return at
}

func (s *Scope) same(f, other Flag) bool {
	if f.Name != other.Name {
		return false
	}
	if f.IsPath() {
		return s.clean(f.Value) == s.clean(other.Value)
	}
	return f.Value == other.Value
}

// atLeast reports whether a limit allows as much as another one of its key.
func (f Flag) atLeast(other Flag) bool {
	_, have, _ := strings.Cut(f.Value, "=")
	_, want, _ := strings.Cut(other.Value, "=")
	has, err := strconv.Atoi(have)
	needs, err2 := strconv.Atoi(want)
	return err == nil && err2 == nil && has >= needs
}
