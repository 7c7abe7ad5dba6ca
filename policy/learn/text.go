package learn

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxName is how many bytes of a name a comment shows.
const maxName = 100

// name writes a text of the server for a comment. A plain word stays as it is. Any other is quoted, with
// each character shown that a reader or a terminal would act on.
func name(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/~@:+-"
	if s != "" && len(s) <= maxName && strings.Trim(s, plain) == "" {
		return s
	}
	return show.TOML(show.Cut(strings.ToValidUTF8(s, "\ufffd"), maxName))
}

// sentence writes a text that may have words of the server for a comment.
func sentence(s string) string {
	if len(s) > 3*maxName || !utf8.ValidString(s) || strings.ContainsFunc(s, show.IsHidden) {
		return name(s)
	}
	return s
}

// list writes the first of some names, and how many more there are.
func list(names []string, most int) string {
	shown := make([]string, min(len(names), most))
	for i := range shown {
		shown[i] = name(names[i])
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + count(more, "more", "more")
	}
	return text
}

// count writes a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
