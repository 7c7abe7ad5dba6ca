package policy

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// JoinKey returns a dotted key as TOML writes it.
func JoinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = show.Key(Abbreviate(p))
	}
	return strings.Join(out, ".")
}

// Abbreviate shortens a text for a message, so that a hostile one cannot fill it.
func Abbreviate(s string) string { return show.Abbreviate(s) }
