package edit

import (
	"fmt"
	"strings"
)

// quote spells a word as a string that JSON, TOML and YAML all read alike: between double
// quotes, with the escapes that the three have in common.
func quote(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range word {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isPlain reports whether a word may stand in YAML without quotes, so that every reader of
// YAML 1.1 and 1.2 takes it for that string. It is strict: quotes are never wrong.
func isPlain(word string) bool {
	rest := strings.TrimPrefix(word, "--")
	for i, r := range rest {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_.=@+", r)) {
			return false
		}
	}
	switch strings.ToLower(rest) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return true
}
