package runline

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// splitShell returns the words of a simple command. It returns the part that would need a
// shell, and why, if the text is anything else: an expansion, a pipe, a redirection, a second
// command, a comment. The first assignments words have the form NAME=value with an unquoted
// name, so that a shell takes them for assignments.
func splitShell(text string) (words []string, assignments int, part, why string) {
	var word strings.Builder
	inWord, plain := false, true // plain: nothing of this word was quoted before its "="
	assign, leading := false, true
	end := func() {
		if !inWord {
			return
		}
		words = append(words, word.String())
		if leading = leading && assign; leading {
			assignments++
		}
		word.Reset()
		inWord, plain, assign = false, true, false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == ' ' || c == '\t':
			end()
		case c == '\'':
			n := strings.IndexByte(text[i+1:], '\'')
			if n < 0 {
				return nil, 0, "'", "the quote is not closed"
			}
			word.WriteString(text[i+1 : i+1+n])
			inWord, plain, i = true, false, i+1+n
		case c == '"':
			n, ok := doubleQuoted(text[i+1:], &word)
			if !ok {
				return nil, 0, show.Abbreviate(text[i:]), "a shell would expand this, or the quote is not closed"
			}
			inWord, plain, i = true, false, i+n
		case c == '\\':
			if i+1 == len(text) || text[i+1] == '\n' {
				return nil, 0, `\`, "the line goes on"
			}
			i++
			word.WriteByte(text[i])
			inWord, plain = true, false
		case c == '=' && !inWord:
			return nil, 0, "=", "zsh expands a word that begins with it"
		case c == '=' && plain && inWord && variableName(word.String()):
			assign, plain = true, false
			word.WriteByte(c)
		case strings.IndexByte("$`*?[]{}|&;<>()!#~^%\n\r", c) >= 0 && !harmless(text, i, inWord):
			return nil, 0, string(c), "a shell gives this character a meaning"
		case c < ' ' || c == 0x7f:
			return nil, 0, string(c), "a control character"
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	end()
	return words, assignments, "", ""
}

// harmless reports whether no shell acts on a special character at its place: "#", "~",
// "^" and "%" inside a word, as in pkg@^1.2 and github:u/r#v1. zsh cares for some of them only
// with extended globbing, which no option that shell accepts turns on.
func harmless(text string, i int, inWord bool) bool {
	switch text[i] {
	case '#', '%':
		return inWord
	case '~':
		// After ":" and "=" a shell may expand it.
		return inWord && text[i-1] != ':' && text[i-1] != '='
	case '^':
		return inWord
	}
	return false
}

// doubleQuoted adds the text up to the closing quote to word, and returns how many bytes of
// text it has, the quote included.
func doubleQuoted(text string, word *strings.Builder) (n int, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return i + 1, true
		case '$', '`', '!':
			return 0, false
		case '\\':
			if i+1 == len(text) || text[i+1] == '\n' {
				return 0, false
			}
			if strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
				i++
			}
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return 0, false
}

func variableName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
