package policy

import (
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
