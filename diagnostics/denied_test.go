package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUserDenial tests that the user's own flag or rule which refuses everything at a path is named,
// and that no line is proposed that it would still beat.
func TestUserDenial(t *testing.T) {
	const inside = "/home/u/work/sub/f"
	for _, c := range []struct {
		name, rule string
		given      bool
		denial     policy.Denial
		text       string
		want       string // in the cause or the fix
		grant      string
	}{
		{"a flag, reading below", "--deny sub", true, policy.Denial{}, "EACCES: permission denied, open '" + inside + "'", "--deny sub refuses everything there", ""},
		{"a flag, writing below", "--deny sub", true, policy.Denial{}, "x: /home/u/work/sub/new: Permission denied", "leave out --deny sub, if the server may have sub", ""},
		{"a rule, reading below", "c.toml:7: path = \"sub\", deny = true", false, policy.Denial{}, "EACCES: permission denied, open '" + inside + "'", "c.toml:7: path = \"sub\", deny = true refuses everything there", ""},
		{"a rule, removing a file below", "c.toml:7: path = \"sub\", deny = true", false, policy.Denial{Axis: policy.AxisFs, Operation: "remove", Target: inside}, "it failed", "c.toml:7: path = \"sub\", deny = true refuses everything there", ""},
		{"a rule, removing it", "c.toml:7: path = \"sub\", deny = true", false, policy.Denial{Axis: policy.AxisFs, Operation: "remove", Target: "/home/u/work/sub"}, "it failed", "the path of a rule stays in its place: leave out c.toml:7", ""},
	} {
		ev := evidence(c.text)
		ev.Profile.Entries = append(ev.Profile.Entries[:0:0], ev.Profile.Entries...)
		for i := range ev.Profile.Entries {
			if e := &ev.Profile.Entries[i]; e.Path == "/home/u/work/src" {
				*e = policy.Entry{Path: "/home/u/work/sub", Kind: policy.KindDir, Origin: policy.OriginRule, Rule: c.rule}
			}
		}
		ev.FromCommandLine = c.given
		ev.Exists = func(p string) bool {
			return strings.TrimSuffix(p, "/.") == "/home/u/work/sub" || p == inside || someHost.exists(p)
		}
		if c.denial.Target != "" {
			ev.Denials = []policy.Denial{c.denial}
		}
		d := Diagnose(ev)
		if got := strings.Join(d.Words, " "); got != c.grant || !strings.Contains(d.Cause+". "+advised(d), c.want) {
			t.Errorf("%s: %q\n%s", c.name, got, d.Text())
		}
	}
}

// TestNotWithoutAJail tests that no line is proposed to make what the user could not make either.
func TestNotWithoutAJail(t *testing.T) {
	for _, creatable := range []bool{false, true} {
		for _, recorded := range []bool{false, true} {
			ev := evidence("ENOENT: no such file or directory, mkdir '/logs'")
			ev.May = func(dir string, _ policy.Rights) bool { return dir != "/logs" || creatable }
			if recorded {
				ev.Denials = []policy.Denial{{Axis: policy.AxisFs, Operation: "mkdir", Target: "/logs"}}
			}
			d := Diagnose(ev)
			if said := strings.Contains(advised(d), "could not make /logs without a jail either"); said != (recorded && !creatable) || !creatable && len(d.Words) > 0 {
				t.Errorf("creatable: %v, recorded: %v: %q\n%s", creatable, recorded, d.Words, d.Text())
			}
		}
	}
}
