package diagnostics

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tomlKey writes one part of a dotted key, quoted where TOML wants it.
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

// tomlString writes s as a basic string. Whatever does not print is escaped, so
// that a path which a server made up cannot disguise the line it stands in. s
// has to be valid UTF-8: TOML knows no other text.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case confusable(r) == '[' && imitatesMark(s[i:]):
			fmt.Fprintf(&b, `\u%04X`, r) // the mark of mcp-jail: see defang
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

// writable tells whether s can be written in a configuration at all.
func writable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// expressible tells whether a rule can name a path: policy refuses line breaks
// and what looks like a glob.
func expressible(path string) bool {
	return writable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}

// shellWord quotes s for a POSIX shell. A leading ~/ stays outside of the
// quotes: mcp-jail and the shell both know it.
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
