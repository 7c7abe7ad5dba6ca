package resolve

import (
	"strings"
)

// A shellWord is a word of a shell command. afterExpansion reports that an unknown
// expansion stands before it: $(git rev-parse --show-toplevel)/tools/x.
type shellWord struct {
	text           string
	afterExpansion bool
}

// splitShellWords splits a command as a shell does, without running anything. Commands in
// $(...) and backquotes are split like others. Other expansions than that of HOME are left out.
// With apart, quotes do not count, as in a script that is itself an argument (sh -c '...').
func splitShellWords(command, home string, apart bool) (words []shellWord) {
	var text strings.Builder
	quote, behind := byte(0), false
	end := func(next bool) {
		if text.Len() > 0 {
			words = append(words, shellWord{text.String(), behind})
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
