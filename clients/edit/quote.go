package edit

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

func (f *File) quote(word string) string {
	if f.format == JSON {
		return show.Item("json", word)
	}
	return show.TOML(word) // which YAML reads alike
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
