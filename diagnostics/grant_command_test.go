package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCommandGrants tests that the diagnosis of a refused start proposes a table that allows
// exactly these arguments, together with the contents of the present table.
func TestCommandGrants(t *testing.T) {
	git := policy.Command{Name: "git", Where: "mcp-jail.toml:12", Args: [][]string{{"status", "**"}}, Starts: []policy.Start{{File: "/usr/bin/git", Name: "git"}}}
	withEnvs, onlyEnvs, script := git, git, git
	withEnvs.Envs, withEnvs.OnlyEnvs = []string{"FOO_VAR"}, true
	onlyEnvs.Args, onlyEnvs.OnlyEnvs = nil, true
	script.Name, script.Starts = "cargo", []policy.Start{{File: "/usr/bin/git", Script: "/opt/cargo"}}
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
			`from starting "/usr/bin/git" as git push 'a b': no rule`},
		{"with variables", []policy.Command{withEnvs}, []policy.Denial{push},
			``, ""},
		{"without arguments in the rule", []policy.Command{onlyEnvs}, []policy.Denial{push},
			``, ""},
		{"one table more", []policy.Command{git, git}, []policy.Denial{push}, ``, ""},
		{"without a table", nil, []policy.Denial{push}, ``, ""},
		{"without a table, by its path", nil, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "/usr/bin/git" })}, ``, ""},
		{"without a table, by a relative path", nil, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "./git" })}, "", `start it as "git", and allow that in a rule of access.commands`},
		{"without a table, by a path outside of PATH", nil, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "/evil/git" })}, "", `start it as "git"`},
		{"without a table, by any name", nil, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "ld.so" })}, "", `start it as "git"`},
		{"without a table and a name", nil, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "" })}, "", `start it as "git"`},
		{"in one line", []policy.Command{git}, []policy.Denial{push},
			``,
			"by hand"},
		{"by another name", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "git-shell" })},
			``, ""},
		{"by another path", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "/evil/git" })}, "", "as /evil/git push"},
		{"by another path, what to do", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "/evil/git" })}, "", `under the name or the path in its rule ("git")`},
		{"by a name that leads nowhere", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "evil" })}, "", `under the name or the path in its rule ("git")`},
		{"without a name", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[0] = "" })}, "", "as '' push"},
		{"nothing is known", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments, d.Detail = nil, "unknown" })}, "", "by hand"},
		{"a script", []policy.Command{script}, []policy.Denial{with(push, func(d *policy.Denial) { d.Target = "/opt/cargo" })},
			``, ""},
		{"no arguments", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments = d.Arguments[:1] })},
			``, "as git: no rule"},
		{"two at once", []policy.Command{git}, []policy.Denial{push, with(push, func(d *policy.Denial) { d.Arguments = []string{"git", "fetch"} })},
			``, ""},
		{"not all are known", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Detail = "further arguments are not recorded" })}, "", "push 'a b'"},
		{"a secret", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[2] = "https://x:geheim-geheim@h" })}, "", "as git push"},
		{"a wildcard by itself", []policy.Command{git}, []policy.Denial{with(push, func(d *policy.Denial) { d.Arguments[2] = "**" })}, "", "by hand, in access.commands.git"},
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
