package report

import (
	"slices"
	"strings"
	"testing"
)

// TestCombinedLine checks that `mcp-jail why` prints one line with the grants of several
// failures.
func TestCombinedLine(t *testing.T) {
	line := func(s string) Diagnosis { return Diagnosis{Line: strings.Fields(s)} }
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --net h -- x y", "j run --env=A --write a -- x y"}, "j run --write . --read a --net h --env=A --write a -- x y"},
		{[]string{"j run --workspace a -- x", "j run --workspace b -- x"}, ""},
		{[]string{"j run --read a -- x", "j run --read b -- y"}, ""},
	} {
		var r Record
		for _, l := range tt.lines {
			r.Diagnoses = append(r.Diagnoses, line(l))
		}
		if got, ok := r.combined(); ok != (tt.want != "") || ok && !slices.Equal(got.line, strings.Fields(tt.want)) {
			t.Errorf("%q: %q", tt.lines, got)
		}
		if said := strings.Contains(r.Text(), "To grant all of this at once:"); said != (tt.want != "") {
			t.Errorf("%q: %s", tt.lines, r.Text())
		}
	}
}

// TestTypedLine tests that a line which no shell takes is written as a list only.
func TestTypedLine(t *testing.T) {
	var b strings.Builder
	addition{line: []string{"mcp-jail", "run", "--read", "~/it's here", "--", "a\x1b[31mb"}}.write(&b, nil)
	if got := b.String(); strings.Count(got, "mcp-jail") != 0 || !strings.Contains(got, `"~/it's here"`) || strings.Contains(got, "\x1b") {
		t.Errorf("a line that no shell is to be given: %q", got)
	}
	b.Reset()
	addition{line: []string{"mcp-jail", "run", "--read", "~/it's here", "--", "a"}}.write(&b, nil)
	if !slices.Contains(strings.Split(b.String(), "\n"), `mcp-jail run --read ~/'it'\''s here' -- a`) {
		t.Errorf("typed: %s", b.String())
	}
}
