package presets

import (
	"slices"
	"strings"
)

// A givenArgument is a word of an entry that the preset knows.
type givenArgument struct {
	argument Argument
	word     string
}

// arguments returns the words of an entry that the preset knows. The value of a flag that the
// preset does not know counts as a position if it is a word by itself.
func (p *Preset) arguments(words []string) (out []givenArgument) {
	position := 0
	for i := 0; i < len(words); i++ {
		word := words[i]
		if strings.HasPrefix(word, "-") && word != "-" {
			flag, value, joined := strings.Cut(word, "=")
			j := slices.IndexFunc(p.Arguments, func(a Argument) bool { return a.Flag == flag })
			if j < 0 {
				continue
			}
			if !joined && i+1 < len(words) {
				i++
				value, joined = words[i], true
			}
			if joined {
				out = append(out, givenArgument{p.Arguments[j], value})
			}
			continue
		}
		position++
		j := slices.IndexFunc(p.Arguments, func(a Argument) bool { return a.Position == position })
		if j < 0 {
			j = slices.IndexFunc(p.Arguments, func(a Argument) bool { return a.Rest })
		}
		if j >= 0 {
			out = append(out, givenArgument{p.Arguments[j], word})
		}
	}
	return out
}

// Secrets returns the flags and positions of an entry whose words are secrets, where other
// programs of this user can read them, each with the variable that can be set instead or "".
func (p *Preset) Secrets(e Entry) map[string]string {
	out := map[string]string{}
	for _, g := range p.arguments(e.Args) {
		if g.argument.Secret {
			out[g.argument.Label()] = g.argument.Variable
		}
	}
	return out
}
