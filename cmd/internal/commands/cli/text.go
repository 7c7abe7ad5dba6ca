package cli

import (
	"encoding/json"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// ShortPath writes the home directory as "~".
func ShortPath(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "/" {
		return "~/" + rest
	}
	return path
}

// Clip shortens a text to n letters.
func Clip(text string, n int) string {
	if letters := []rune(text); len(letters) > n {
		return string(letters[:n-1]) + "…"
	}
	return text
}

func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}

// NonNil returns s, or an empty slice for nil, which JSON shows as [] and not null.
func NonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// WriteWrapped writes items separated by commas, in lines of at most width bytes.
func WriteWrapped(b *strings.Builder, indent string, items []string, width int) {
	room := 0
	for i, item := range items {
		item = show.Line(item)
		switch {
		case i == 0, room < len(item)+3: // with the comma after it
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(indent + item)
			room = width - len(indent) - len(item)
		default:
			b.WriteString(", " + item)
			room -= len(item) + 2
		}
	}
	if len(items) > 0 {
		b.WriteByte('\n')
	}
}

// PrintJSON prints a value, indented. Its type can be encoded.
func PrintJSON(c terminal.Console, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	c.Printf("%s\n", show.JSON(b))
}

// FalseFirst sorts false before true.
func FalseFirst(b bool) int {
	if b {
		return 1
	}
	return 0
}
