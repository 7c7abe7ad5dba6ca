package terminal

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short\nlines", "short\nlines"},
		{"  one two three four five", "  one two three\n      four five"},
		{"\x1b[1mone\x1b[0m two three four five", "\x1b[1mone\x1b[0m two three four\n    five"},
		{"ein zwölf vier fünf", "ein zwölf vier\n    fünf"},
		{"a  column   of words", "a  column   of\n    words"},
		{"one /a/path/that/is/long and more", "one /a/path/that/is/long\n    and more"},
		{`"args": ["a b c", "d e f g"]`, `"args": ["a b c", "d e f g"]`},
		{"/a/path/to/mcp-jail run -- one two", "/a/path/to/mcp-jail run -- one two"},
		{"'/a b/mcp-jail' run -- one two three", "'/a b/mcp-jail' run -- one two three"},
		{"  mcp-jail run --read ~/notes -- x", "  mcp-jail run --read ~/notes -- x"},
		{"path = \"~/a b c d e f g\"", "path = \"~/a b c d e f g\""},
		{"[[servers.\"a b c d e\".access.fs]]", "[[servers.\"a b c d e\".access.fs]]"},
	} {
		if got := Fold(c.text, 18); got != c.want {
			t.Errorf("%q:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
	for _, line := range strings.Split(Fold(strings.Repeat("word ", 200), TextWidth), "\n") {
		if len(line) > TextWidth {
			t.Errorf("%d characters", len(line))
		}
	}
}
