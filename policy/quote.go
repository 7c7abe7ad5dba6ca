package policy

import (
	"fmt"
	"strings"
)

// JoinKey returns a dotted key as TOML writes it.
func JoinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = QuoteKey(Abbreviate(p))
	}
	return strings.Join(out, ".")
}

// QuoteKey returns one part of a key, quoted if TOML requires it.
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

// Abbreviate shortens a text for a message, so that a hostile one cannot fill it.
func Abbreviate(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:77], "") + "..."
}

// QuoteTOML returns s as a TOML basic string.
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

// QuoteTOMLList returns values as a TOML array of strings.
func QuoteTOMLList(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = QuoteTOML(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// QuoteShell quotes a path for a line that a user copies into a shell.
func QuoteShell(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%=") == "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QuoteFlag returns a flag with its path as a user types it into a shell. A "~" at the start,
// which mcp-jail and the shell both replace, stays outside of the quotes.
func QuoteFlag(flag, path string) string {
	rest, isHome := strings.CutPrefix(path, "~/")
	switch {
	case path == "~" || path == "~/":
		return flag + " " + path
	case isHome:
		return flag + " ~/" + QuoteShell(rest)
	}
	return flag + " " + QuoteShell(path)
}
