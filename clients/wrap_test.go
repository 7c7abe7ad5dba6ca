package clients

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestParseWrapped tests which command lines are ours, and what they contain.
func TestParseWrapped(t *testing.T) {
	for _, row := range testkit.Rows(t, "wrapped.txt", 2) {
		line, want := row[0], row[1]
		w, ok := ParseWrapped(strings.Fields(line))
		got := strings.Join([]string{w.Name, strings.Join(w.Flags, " "), strings.Join(w.Argv, " ")}, "|")
		if ok != (want != "") || ok && got != want || (w.ID == "a-1") != strings.Contains(line, "a-1") {
			t.Errorf("%s: %v %q, want %q", line, ok, got, want)
		}
	}
}

func stdio(server string, argv ...any) Entry {
	return cursor().Entry(Item{Path: []string{"mcpServers", server}, Value: map[string]any{"command": argv[0], "args": argv[1:]}})
}

// TestWrapErrors tests what is refused.
func TestWrapErrors(t *testing.T) {
	plain := stdio("x", "npx", "y")
	for _, c := range []struct {
		entry Entry
		w     Wrapping
		is    error
		want  string
	}{
		{plain, Wrapping{Program: "/bin/mcp-jail"}, nil, ""},
		{stdio("x", "mcp-jail", "run", "--", "y"), Wrapping{Program: "/bin/mcp-jail", ID: "x-0"}, nil, ""},
		{plain, Wrapping{Program: "/bin/jail"}, nil, "base name has to be mcp-jail"},
		{plain, Wrapping{}, nil, "base name has to be mcp-jail"},
		{Entry{}, Wrapping{Program: "mcp-jail"}, errLeft, ""},
	} {
		edit, err := c.entry.Wrap(c.w)
		if c.want == "" && c.is == nil {
			testkit.Works(t, c.w, err)
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || edit.Words != nil {
			t.Errorf("%+v: %v, want %q", c.w, err, c.want)
		}
	}
	for _, argv := range [][]any{{"npx", "y"}, {"mcp-jail", "run", "notes"}} {
		if edit, err := stdio("x", argv...).Unwrap(); !errors.Is(err, errNotWrapped) || edit.Drop != 0 {
			t.Errorf("%q: %+v, %v", argv, edit, err)
		}
	}
}
