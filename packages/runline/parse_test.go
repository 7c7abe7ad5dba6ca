package runline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// shown prints what a line asks for: the packages, the program and the arguments, and what wrappers add.
func shown(l runline.Line) string {
	var parts []string
	for _, p := range l.Packages {
		text := p.Name
		if p.Extras != nil {
			text += "[" + strings.Join(p.Extras, ",") + "]"
		}
		switch {
		case p.Version != "":
			text += " version " + p.Version
		case p.Range != "":
			text += " range " + p.Range
		case p.Tag != "":
			text += " tag " + p.Tag
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, " + ")
	for _, more := range []struct{ name, value string }{
		{"program", l.Program}, {"python", l.Python}, {"in", l.Dir}, {"behind", strings.Join(l.Outer, " ")},
	} {
		if more.value != "" {
			text += ", " + more.name + " " + more.value
		}
	}
	for _, a := range l.Env {
		text += ", " + a.Name + "=" + a.Value
	}
	if len(l.Args) > 0 {
		text += fmt.Sprintf(", %q", l.Args)
	}
	return text
}

// TestParse: words are separated by "|".
func TestParse(t *testing.T) {
	for _, row := range testkit.Rows(t, "lines.txt", 2) {
		line, want := row[0], row[1]
		got := ""
		l, err := runline.Parse(strings.Split(line, "|"))
		if err == nil {
			got = shown(l)
		}
		if got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", line, err, got, want)
		}
	}
}

// TestNotUnderstood: a launcher's line that may mean something else runs as it is given, and names the word.
func TestNotUnderstood(t *testing.T) {
	for _, tt := range testkit.Table[struct{ line, word string }](t, "not-understood.txt") {
		l, err := runline.Parse(strings.Split(tt.line, "|"))
		var e *runline.NotUnderstoodError
		if !errors.As(err, &e) || e.Word != tt.word || e.Why == "" || e.Launcher == "" || !strings.Contains(err.Error(), "not pinned") {
			t.Errorf("%s: %v, %+v, want a complaint about %q", tt.line, err, l, tt.word)
		}
	}
}

// TestNotLauncher: what starts a program directly.
func TestNotLauncher(t *testing.T) {
	for _, line := range []string{
		"", "node|npx", "/usr/bin/python3|-m|npx", "npm|start", "npm|run|exec", "npm|install|exec|x", "uv|run|x", "uv|tool|install|run", "bun|run|x", "yarn|start", "pnpm|exec|x", "pipx|install|x",
		"./npx|pkg", `bin\npx|pkg`, "./env|npx|pkg", "go|run|x@v1", "op|run|--|npx|x", "env|-C|npx", "docker|run|x", "env", "sh|x.sh", "sh|-c|cd /d && node x", "sh|-c|node $A", "env|-x|node|s.js", "cmd|/c|npx.cmd.txt",
	} {
		if l, err := runline.Parse(strings.Split(line, "|")); !errors.Is(err, runline.ErrNotLauncher) {
			t.Errorf("%s: %v, %+v", line, err, l)
		}
	}
	testkit.Is(t, "no words", testkit.ErrorOf(runline.Parse(nil)), runline.ErrNotLauncher)
}

// TestWanted: lines with the same text share an installation: wrappers, arguments and the program are not in it.
func TestWanted(t *testing.T) {
	for _, tt := range testkit.Table[struct{ line, want, local string }](t, "wanted.txt") {
		l, err := runline.Parse(strings.Fields(tt.line))
		if err != nil || l.Wanted() != tt.want || l.Local() != tt.local {
			t.Errorf("%s: %v, %q, %q, want %q, %q", tt.line, err, l.Wanted(), l.Local(), tt.want, tt.local)
		}
	}
}
