package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestChanges tests what a project's file makes of each server: what it declares, and what it takes away.
func TestChanges(t *testing.T) {
	o, _ := layersIn(t)
	testkit.WriteFile(t, o.User, `
[defaults]
pin_tools = "enforce"
[servers.s]
command = "x"
limits.memory_mb = 100
access.fs = [{ path = ".", read = true }, { path = "private", deny = true }]
access.commands.git.args = [["status"]]
access.sensitive_paths = ["keys"]
[servers.calls]
command = "x"
stateful = false
[servers.other]
command = "x"
`)
	o.Project = []byte("version = 1\n")
	before, err := Load(o)
	testkit.Must(t, err)
	o.Project = []byte(`
[servers.s]
undo = "session"
roots = "narrow"
limits.memory_mb = 200
pin_tools = "off"
access.fs = [{ path = "pub", read = true, write = true }, { path = "gone", deny = true }]
access.net = [{ host = "h.example", allow = true }]
access.commands.perl = {}
[servers.calls.tools.t]
allow = false
[servers.calls.tools.t.access]
fs = []
[servers.own]
command = "/bin/sh"
arguments = ["x"]
`)
	after, err := Load(o)
	testkit.Must(t, err)
	got, err := Changes(before, after)
	testkit.Must(t, err)
	want := []ServerChange{
		{Server: "calls", Texts: []string{"tools without a table: t is on; new: off", "tool t: all files"}},
		{Server: "own", Starts: []string{"/bin/sh", "x"}, Texts: []string{"the project folder (read write)"}},
		{Server: "s", Texts: []string{"all files but pub (read write)", "all hosts but h.example", "all programs but its own, perl", "gone", `undo = "session"`}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestCompare tests what is said of each thing that differs, both ways.
func TestCompare(t *testing.T) {
	net := func(r policy.NetRule) policy.Policy { return policy.Policy{Net: []policy.NetRule{r}} }
	set := func(key, value string) policy.Policy {
		return policy.Policy{Settings: []policy.Setting{{Key: key, Value: value}}}
	}
	for _, c := range []struct {
		was, is policy.Policy
		want    string // of each change: ! if it loosens
	}{
		{policy.Policy{Command: "a"}, policy.Policy{Command: "b"}, "!command b (was a)"},
		{policy.Policy{}, policy.Policy{Arguments: []string{"a b"}}, `!arguments 'a b'`},
		{policy.Policy{Workspace: "a"}, policy.Policy{Workspace: "b"}, "!project folder b (was a)"},
		{policy.Policy{}, policy.Policy{Stateful: true}, "!stateful true"},
		{policy.Policy{}, policy.Policy{Warm: 3}, "warm 3"},
		{policy.Policy{}, policy.Policy{HomeReal: true}, `!home = "real"`},
		{policy.Policy{HomeReal: true}, policy.Policy{}, `home = "private"`},
		{policy.Policy{}, policy.Policy{Fs: []policy.FsRule{{Path: "p", Read: true}, {Path: "d", Deny: policy.Write}}}, "!p (read)|refuses writing d"},
		{policy.Policy{}, policy.Policy{Fs: []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}}, "!the project folder (read write)"},
		{policy.Policy{}, policy.Policy{Env: []policy.EnvRule{{Name: "K", Read: true, File: "~/f"}}}, "!variable K, which mcp-jail reads from ~/f"},
		{policy.Policy{Env: []policy.EnvRule{{Name: "K", Read: true}}}, policy.Policy{Env: []policy.EnvRule{{Name: "K", Read: true, File: "/f"}}}, "!variable K, which mcp-jail reads from /f"},
		{policy.Policy{}, net(policy.NetRule{Host: "h", Port: 1, Scheme: "https", PathPrefix: "/p", Methods: []string{"GET"}, Allow: true}), "!h:1 (only https, the path /p, GET)"},
		{policy.Policy{}, net(policy.NetRule{Host: "h", Secrets: []policy.Secret{{Env: "K", File: "/f"}}, Allow: true}), "!h (with the secret K)|!h gets the content of a file, as the secret K: /f"},
		{policy.Policy{}, net(policy.NetRule{Host: "h", Secrets: []policy.Secret{{Env: "K", Command: []string{"op", "x"}}}, Allow: true}), "!h (with the secret K)|!runs outside the jail, for the secret K: op x"},
		{policy.Policy{}, net(policy.NetRule{Host: "h"}), "refuses h"},
		{policy.Policy{}, policy.Policy{Inbound: []policy.InboundRule{{Port: 80}}}, "!inbound port 80"},
		{policy.Policy{}, policy.Policy{Env: []policy.EnvRule{{Name: "X", Read: true}, {Name: "Y"}}}, "!variable X|refuses the variable Y"},
		{policy.Policy{}, policy.Policy{Sensitive: []string{"s"}}, "refuses the sensitive file s"},
		{policy.Policy{}, policy.Policy{Commands: []policy.CommandRule{{Name: "git", Args: [][]string{{"a"}, {"b"}}, Envs: []string{"E"}}}},
			`may start no program but its own and those listed|may start git with ["a"] or ["b"], which gets the variables ["E"]`},
		{policy.Policy{Commands: []policy.CommandRule{}}, policy.Policy{}, "!may start any program"},
		{policy.Policy{Commands: []policy.CommandRule{}}, policy.Policy{Commands: []policy.CommandRule{{Name: "git"}}}, "!may start git"},
		{policy.Policy{}, policy.Policy{Waive: []policy.Axis{policy.AxisFs}}, "!waived fs"},
		{policy.Policy{}, set("leaks", `"off"`), `!leaks = "off"`},
		{set("leaks", `"warn"`), set("leaks", `"block"`), `leaks = "block" (was "warn")`},
		{set("limits.memory_mb", "5"), policy.Policy{}, "!limits.memory_mb = the default (was 5)"},
		{policy.Policy{}, set("limits.memory_mb", "5"), "limits.memory_mb = 5"},
		{policy.Policy{}, set("undo_total_mb", "5"), "!undo_total_mb = 5"},
		{policy.Policy{}, set("leak_patterns", "true"), "leak_patterns = true"},
		{policy.Policy{}, policy.Policy{Tools: policy.Switches{policy.NewSwitch("*", false, ""), policy.NewSwitch("a", true, "")}}, "every other tool is on; new: off"},
		{policy.Policy{Tools: policy.Switches{policy.NewSwitch("B", false, "")}}, policy.Policy{}, "!B is off; new: on"},
		{policy.Policy{}, set("roots", `"narrow"`), `!roots = "narrow"`},
		{policy.Policy{}, set("call_timeout_secs", "5"), "call_timeout_secs = 5"},
	} {
		var got []string
		for _, ch := range Compare(&c.was, &c.is) {
			got = append(got, map[bool]string{true: "!"}[ch.Loosens]+ch.Text)
		}
		for _, text := range Gained(&c.was, &c.is) {
			got = append(got, "!"+text)
		}
		_, refusals := ruleTexts(&c.is)
		for _, text := range refusals {
			got = append(got, "refuses "+text)
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q, want %s", got, c.want)
		}
		if differ(&c.is, &c.is) {
			t.Errorf("nothing has changed: %+v", c.is)
		}
	}
}

// differ reports whether two policies give or refuse anything else.
func differ(a, b *policy.Policy) bool {
	_, refuses := ruleTexts(a)
	_, others := ruleTexts(b)
	return Compare(a, b) != nil || len(Gained(a, b))+len(Gained(b, a)) > 0 || !slices.Equal(refuses, others)
}

// TestEveryFieldIsCompared checks that each field of a policy shows in a comparison, but for those that say nothing of
// what a server may do, and those that are among the settings.
func TestEveryFieldIsCompared(t *testing.T) {
	compared := strings.Fields("Command Arguments Workspace Stateful Warm HomeReal Fs Net Inbound Env Commands Sensitive Waive Settings Tools")
	ignored := strings.Fields("Server Tool Where FromCommandLine Project Others Noted Kept UnusedKeys Narrow Default ID Key StartIn " +
		"Startup Call Roots Undo Leaks LeakPatterns Ask Log Limits Packages")
	typ := reflect.TypeFor[policy.Policy]()
	for i := range typ.NumField() {
		if name := typ.Field(i).Name; !slices.Contains(compared, name) && !slices.Contains(ignored, name) {
			t.Errorf("the field %s is neither compared nor known to say nothing", name)
		}
	}
}
