package inspect

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
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

// TestPlanWithoutJail checks that the plan of a system that has no jail begins with that, and that
// another plan does not.
func TestPlanWithoutJail(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Chdir(t.TempDir())
	server, err := session.Resolve(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, "", "", cmdline.Server{Given: true, Argv: []string{"/bin/sh"}})
	if err != nil {
		t.Fatal(err)
	}
	gaps := []confine.Gap{{Axis: policy.AxisFs, What: "anything", Why: "confinement on darwin is not implemented", Fatal: true}}
	const begins = "nothing below is enforced here: confinement on darwin is not implemented. The policy is:\n"
	for want, plan := range map[bool]*confine.Plan{
		true:  {Profile: server.Profile, Gaps: gaps},
		false: {Profile: server.Profile, Gaps: gaps, Enforced: []confine.Enforcement{{Axis: policy.AxisEnv, By: "execve"}}},
	} {
		page := planPage{target: server, plan: plan}
		text := page.text(&confine.GapError{Gaps: gaps}, nil)
		if strings.HasPrefix(text, begins) != want || !strings.Contains(text, "\nfiles  not enforced\n") {
			t.Errorf("want the note: %v:\n%s", want, text)
		}
	}
}
