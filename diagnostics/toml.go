package diagnostics

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tomlKey writes one part of a dotted key, quoted where TOML requires it.
func tomlKey(s string) string {
	bare := s != ""
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			bare = false
		}
	}
	if bare {
		return s
	}
	return tomlString(s)
}

// tomlString writes s as a basic string. Characters that do not print are escaped, so that
// a path made up by a server cannot disguise its line. s must be valid UTF-8, as TOML
// requires.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case confusable(r) == '[' && imitatesMark(s[i:]):
			fmt.Fprintf(&b, `\u%04X`, r) // the mark of mcp-jail: see escapeMark
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// writable reports whether s can be written in a configuration.
func writable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// expressible reports whether a rule can name a path: policy refuses line breaks and
// globs.
func expressible(path string) bool {
	return writable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}

// shellWord quotes s for a POSIX shell. A leading ~/ stays outside of the quotes, because
// mcp-jail and the shell both expand it.
func shellWord(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@%+=,*~", r))
	}) < 0 && !strings.Contains(s, "*") && !strings.Contains(s[1:], "~") {
		return s
	}
	head := ""
	if strings.HasPrefix(s, "~/") {
		head, s = "~/", s[2:]
	}
	return head + "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// shellWords returns the words that shellWord has quoted.
func shellWords(quoted []string) (words []string) {
	for _, w := range quoted {
		head, rest, found := strings.Cut(w, "'")
		if rest, ended := strings.CutSuffix(rest, "'"); found && ended {
			w = head + strings.ReplaceAll(rest, `'\''`, "'")
		}
		words = append(words, w)
	}
	return words
}
