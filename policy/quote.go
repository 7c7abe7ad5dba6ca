package policy

import (
	"fmt"
	"strings"
)

// dotted prints a key as TOML would want it written.
func JoinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = QuoteKey(Abbreviate(p))
	}
	return strings.Join(out, ".")
}

func QuoteKey(s string) string {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return QuoteTOML(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// clip keeps a hostile text out of messages.
func Abbreviate(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}

// tomlString quotes s as a TOML basic string.
func QuoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func QuoteTOMLList(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = QuoteTOML(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// shellWord quotes a path for a line that a user copies into a shell.
func QuoteShell(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%=") == "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
