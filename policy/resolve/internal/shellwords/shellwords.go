// Package shellwords splits shell commands, without running anything.
package shellwords

import "strings"

// A Word is a word of a shell command. AfterExpansion reports that an unknown
// expansion is before it: $(git rev-parse --show-toplevel)/tools/x.
type Word struct {
	Text           string
	AfterExpansion bool
}

// Split splits a command as a shell does, without running anything. Commands in
// $(...) and backquotes are split like others. Other expansions than that of HOME are left out.
// With apart, quotes do not count, as in a script that is itself an argument (sh -c '...').
func Split(command, home string, apart bool) (words []Word) {
	var text strings.Builder
	quote, behind := byte(0), false
	end := func(next bool) {
		if text.Len() > 0 {
			words = append(words, Word{text.String(), behind})
		}
		text.Reset()
		behind = next
	}
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case apart && (c == '\'' || c == '"'):
		case quote == '\'' && c != '\'':
			text.WriteByte(c)
		case c == '\\' && i+1 < len(command):
			i++
			text.WriteByte(command[i])
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '$':
			// ${NAME} or $NAME; what follows an unknown one is a path below an unknown place.
			name := strings.TrimLeft(command[i+1:], "{")
			name = name[:len(name)-len(strings.TrimLeft(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"))]
			i += strings.Index(command[i+1:], name) + len(name)
			if name == "HOME" {
				text.WriteString(home)
			} else if i+1 >= len(command) || command[i+1] != '(' {
				text.Reset()
				behind = true
			}
			if i+1 < len(command) && command[i+1] == '}' {
				i++
			}
		case c == ')' || c == '`':
			end(true)
		case quote == 0 && strings.IndexByte(";|&<>(){} \t\n", c) >= 0:
			end(false)
		default:
			text.WriteByte(c)
		}
	}
	end(false)
	return words
}
