package commands

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCommandText: two rules that allow different starts read differently.
func TestCommandText(t *testing.T) {
	for _, c := range []struct {
		name string
		args [][]string
		want string
	}{
		{"git", nil, "git  any arguments"},
		{"git", [][]string{{}}, "git  no arguments"},
		{"git", [][]string{{"no arguments"}}, `git  "no arguments"`},
		{"git", [][]string{{"-c", "x"}, {"log", "*"}, {"status", "**"}}, "git  -c x, or log *, or status **"},
		{"git", [][]string{{"-c x"}}, `git  "-c x"`},
		{"git", [][]string{{"a, or b"}}, `git  "a, or b"`},
		{"git", [][]string{{"", "a\nb", `"`}}, `git  "" "a\nb" "\""`},
		{"/a b/git", nil, `"/a b/git"  any arguments`},
	} {
		if got := commandText(policy.Command{Name: c.name, Args: c.args}); got != c.want {
			t.Errorf("%q: %s, want %s", c.args, got, c.want)
		}
	}
}
