package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCommandGrants tests that the start of a program with arguments that no rule lists is said with
// them, without secrets, and that nothing is proposed: a rule for them is written by hand.
func TestCommandGrants(t *testing.T) {
	git := policy.Command{Name: "git", Where: "mcp-jail.toml:12", Args: [][]string{{"status", "**"}}, Starts: []policy.Start{{File: "/usr/bin/git", Name: "git"}}}
	push := policy.Denial{Axis: policy.AxisProcess, Operation: "exec", Target: "/usr/bin/git", Reason: policy.DeniedArguments, Arguments: []string{"git", "push", "a b"}, Count: 1}
	for _, tt := range []struct {
		name     string
		commands []policy.Command
		denials  []policy.Denial
		grant    string
		cause    string
	}{
		{"beside others", []policy.Command{git}, []policy.Denial{push},
			``,
			`from starting /usr/bin/git as git push 'a b': no rule`},
		{"by another path", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "/evil/git" })}, "", "as /evil/git push"},
		{"without a name", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "" })}, "", "as '' push"},
		{"no arguments", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments = d.Arguments[:1] })},
			``, "as git: no rule"},
		{"not all are known", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Detail = "further arguments are not recorded" })}, "", "push 'a b'"},
		{"a secret", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[2] = "https://x:geheim-geheim@h" })}, "", "as git push"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("it failed")
			ev.Denials = tt.denials
			ev.Profile.Programs, ev.Profile.CommandArgs, ev.Profile.Commands = []string{"/usr/bin/git", "/usr/bin/node"}, []string{"git"}, tt.commands
			ev.Exists = func(p string) bool { return p == "/usr/bin/git" || p == "/usr/bin/git-shell" }
			ev.Canonical = func(p string) string { return strings.TrimSuffix(p, "-shell") }
			ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: "TOKEN", Value: "geheim-geheim", Secret: true})
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); got != tt.grant || d.Attribution != Certain {
				t.Errorf("%v grant\n got %s\nwant %s", d.Attribution, got, tt.grant)
			}
			if all := d.Cause + d.Fix; !strings.Contains(all, tt.cause) || strings.Contains(all, "geheim-geheim") {
				t.Errorf("%s", all)
			}
		})
	}
}

func with(d policy.Denial, change func(*policy.Denial)) policy.Denial {
	d.Arguments = append([]string(nil), d.Arguments...)
	change(&d)
	return d
}
