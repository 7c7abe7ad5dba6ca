package show

import (
	"fmt"
	"strings"
)

// TOML returns s, valid UTF-8, as a basic string, in which every character shows. YAML reads the
// string alike. The mark of mcp-jail is escaped too.
func TOML(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	var open marks
	for i, r := range s {
		flood := open.isFlood(r)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		// An escape reads as the same string, and shows what is there.
		case isMark(r, s[i:]), r <= 0xffff && (flood || IsHidden(r)):
			fmt.Fprintf(&b, `\u%04X`, r)
		case flood || IsHidden(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Key returns one part of a dotted key, quoted if TOML requires it.
func Key(s string) string {
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return TOML(s)
	}
	return s
}

// List returns values as a TOML array of strings.
func List(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = TOML(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}
