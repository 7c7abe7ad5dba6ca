package terminal

import (
	"os"
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
		{`  {"method": "tools/call", "params": {}}`, `  {"method": "tools/call", "params": {}}`},
		{"/a/path/to/mcp-jail run -- one two", "/a/path/to/mcp-jail run -- one two"},
		{"'/a b/mcp-jail' run -- one two three", "'/a b/mcp-jail' run -- one two three"},
		{"  mcp-jail run --read ~/notes -- x", "  mcp-jail run --read ~/notes -- x"},
		{"path = \"~/a b c d e f g\"", "path = \"~/a b c d e f g\""},
		{"start it with --read '/a b'", "start it with\n    --read '/a b'"},
		{"Read it:   cat '/a b/c d e'", "Read it:   cat '/a b/c d e'"},
		{"the server's words are not it", "the server's words\n    are not it"},
		{"see `mcp-jail plan notes` here", "see `mcp-jail plan notes`\n    here"},
		{"mcp-jail does not know that.", "mcp-jail does not\n    know that."},
		{"type this:  mcp-jail run x", "type this:\n    mcp-jail run x"}, {"type  mcp-jail run -- a b c", "type  mcp-jail run -- a b c"},
		{"args: [\"a b c\", \"d e\"]", "args: [\"a b c\", \"d e\"]"},
		{"may not write \"/a b/c d\" (by \"x\")", "may not write\n    \"/a b/c d\" (by\n    \"x\")"},
		{"server said: \"no such thing\"", "server said: \"no\n    such thing\""},
		{"flags to add: --a b --c d", "flags to add: --a b --c d"},
		{"[[servers.\"a b c d e\".access.fs]]", "[[servers.\"a b c d e\".access.fs]]"},
	} {
		if got := Fold(c.text, 18); got != c.want {
			t.Errorf("%q:\n%s\nwant:\n%s", c.text, got, c.want)
		}
	}
	for _, line := range strings.Split(Fold(strings.Repeat("word ", 200), textWidth), "\n") {
		if len(line) > textWidth {
			t.Errorf("%d characters", len(line))
		}
	}
}

func TestShortHome(t *testing.T) {
	for text, want := range map[string]string{
		"read /home/u/a":            "read ~/a",
		`path = "/home/u/a"`:        `path = "~/a"`,
		"/home/u/a:4: x":            "~/a:4: x",
		"HOME=/home/u/a":            "HOME=/home/u/a",
		"cat '/home/u/a b'":         "cat '/home/u/a b'",
		"/srv/home/u/a /home/u2/b":  "/srv/home/u/a /home/u2/b",
		"/home/u is the home":       "/home/u is the home",
		"/home/u/a\n/home/u/b: two": "~/a\n~/b: two",

		"a line:\n  {\"path\":\"/home/u/a\"}\n\"args\": [\"/home/u/a\"]": "a line:\n  {\"path\":\"/home/u/a\"}\n\"args\": [\"/home/u/a\"]",
	} {
		if got := ShortHome(text, "/home/u"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestFoldMessages: the lines of a session's messages are folded, and what is copied stays whole.
func TestFoldMessages(t *testing.T) {
	t.Setenv("HOME", "/home/u")
	t.Setenv("COLUMNS", "40")
	text := "mcp-jail:   cause: the jail refused to write /home/u/a/file\nmcp-jail:     [[servers.\"a b\".access.fs]] # which is long\n"
	want := "mcp-jail:   cause: the jail refused to\nmcp-jail:       write ~/a/file\nmcp-jail:     [[servers.\"a b\".access.fs]] # which is long\n"
	if got := New(nil, nil, os.Stderr).FoldMessages(text); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestFoldSpaces: the time does not grow faster than the text.
func TestFoldSpaces(t *testing.T) {
	if got := Fold("a"+strings.Repeat(" ", 1<<20)+"b", 100); len(got) > 9<<17 || !strings.HasSuffix(got, "b") {
		t.Errorf("%d bytes", len(got))
	}
}
