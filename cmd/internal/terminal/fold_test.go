package terminal

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestFold(t *testing.T) {
	for _, c := range testkit.Table[struct{ text, want string }](t, "fold.txt") {
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
	for text, want := range testkit.Named[string](t, "fold-lines.txt") {
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
