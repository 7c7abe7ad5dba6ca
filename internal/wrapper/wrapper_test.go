package wrapper

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestParse: where the wrapped command begins, and what env changes for it. In a line "|" separates
// words. An error names the word.
func TestParse(t *testing.T) {
	for _, row := range testkit.Rows(t, "lines.txt", 2) {
		line, want := row[0], row[1]
		argv := strings.Split(line, "|")
		l, err := Parse(path.Base(argv[0]), argv)
		got := described(l)
		if unknown := new(Error); errors.As(err, &unknown) {
			got = "error " + unknown.Word
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func described(l line) (text string) {
	if l.Plain {
		text += "plain "
	}
	for _, name := range l.Unset {
		text += "unset " + name + " "
	}
	if l.Dir != "" {
		text += "in " + l.Dir + " "
	}
	for _, v := range l.Set {
		text += fmt.Sprintf("set %s ", v)
	}
	return text + strings.Join(l.Inner, "|")
}

// TestOwn: the wrapper's own words, without those that are kept apart.
func TestOwn(t *testing.T) {
	for line, want := range map[string]string{
		"timeout|-k|1|5|x": "timeout|-k|1|5", "nice|-n5|--|x": "nice|-n5|--", "env|-i|-uA|-C/d|B=1|x": "env|-u|A|-C|/d|B=1",
	} {
		argv := strings.Split(line, "|")
		l, err := Parse(argv[0], argv)
		if got := strings.Join(l.Own, "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
		if strings.Join(argv, "|") != line {
			t.Errorf("%s was changed to %q", line, argv)
		}
	}
}
