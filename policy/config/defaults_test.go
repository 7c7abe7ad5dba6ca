package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDefaults tests the settings and rules that a server gets from [defaults] of two layers, and
// that the settings of its own table and of its preset replace the defaults.
func TestDefaults(t *testing.T) {
	o, _ := layersIn(t)
	o.System, o.User = testkitFile(t, "[defaults]\npin_tools = \"enforce\"\ncall_timeout_secs = 5\nlimits.memory_mb = 100\nsensitive_paths = [\"~/mail\"]\n"),
		testkitFile(t, `[defaults]
call_timeout_secs = 7
limits.processes = 9
warm = 2
sensitive_paths = ["~/photos"]
env = [{ name = "LC_TIME", read = true }, { name = "EDITOR_*", read = false }]

[servers.plain]
command = "x"

[servers.own]
command = "x"
call_timeout_secs = 3
limits.memory_mb = 200
stateful = false
tools.a.access.fs = [{ path = "/srv", read = true }]
tools.a.access.sensitive_paths = ["~/own"]

[servers.fitted]
command = "x"
preset = "p"
`)
	c, err := Load(o)
	must(t, err)
	below := &Server{Name: "p"}
	below.Settings.set(policy.Setting{Key: "limits.processes", Value: "50"})
	c.LayBelow("fitted", below)
	text := func(server, tool string) string {
		t.Helper()
		p, err := c.Policy(server, tool)
		must(t, err)
		var env []string
		for _, r := range p.Env {
			env = append(env, fmt.Sprint(r.Name, " ", r.Read))
		}
		return fmt.Sprintf("%s %v %d %d %d default %v sensitive %q env %q unused %d", p.Packages.PinTools, p.Call, p.Limits.MemoryMB, p.Limits.Processes, p.Warm, p.Default, p.Sensitive, env, len(p.UnusedKeys))
	}
	const env = `env ["LC_TIME true" "EDITOR_* false"]`
	for _, s := range []struct{ server, tool, want string }{
		{"plain", "", `enforce 7s 100 9 0 default true sensitive ["~/mail" "~/photos"] ` + env + ` unused 0`},
		{"own", "", `enforce 3s 200 9 2 default true sensitive ["~/mail" "~/photos"] ` + env + ` unused 0`},
		{"own", "a", `enforce 3s 200 9 2 default false sensitive ["~/mail" "~/photos" "~/own"] ` + env + ` unused 0`},
		{"fitted", "", `enforce 7s 100 50 0 default true sensitive ["~/mail" "~/photos"] ` + env + ` unused 0`},
	} {
		if got := text(s.server, s.tool); got != s.want {
			t.Errorf("%s %s:\n%s\nwant\n%s", s.server, s.tool, got, s.want)
		}
	}
	var origins []string
	own, err := c.Policy("own", "")
	must(t, err)
	for _, s := range own.Settings {
		_, line := policy.SplitPosition(s.Where)
		origins = append(origins, fmt.Sprintf("%s=%s:%d %v", s.Key, s.Value, line, s.Default))
	}
	if got, want := strings.Join(origins, " "), `call_timeout_secs=3:13 false limits.memory_mb=200:14 false limits.processes=9:3 true pin_tools="enforce":2 true warm=2:4 true env={ name = "LC_TIME", read = true }:6 true env={ name = "EDITOR_*", read = false }:6 true sensitive_paths=["~/mail", "~/photos"]:5 true`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// A server that is given on the command line has the defaults too.
	d, err := LoadDefaults(o)
	must(t, err)
	p, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Limit: []string{"processes=77"}, Defaults: d})
	must(t, err)
	if p.Call.Seconds() != 7 || p.Limits.Processes != 77 || p.Limits.MemoryMB != 100 || len(p.Sensitive) != 2 || !p.Default {
		t.Errorf("%+v", p)
	}
}

func testkitFile(t *testing.T, text string) string {
	t.Helper()
	name := t.TempDir() + "/c.toml"
	testkit.WriteFile(t, name, text)
	return name
}

// TestDefaultsGrantNothing checks that [defaults] is refused if it has a key that would grant
// something to every server, or if it is in a project's file.
func TestDefaultsGrantNothing(t *testing.T) {
	const forAll = "would hold for every server"
	for line, want := range map[string]string{
		"access.fs = []": forAll, `command = "x"`: forAll, `arguments = []`: forAll, `variables = ["A"]`: forAll, `workspace = "/"`: forAll, `home = "real"`: forAll,
		`preset = "github"`: forAll, "stateful = false": forAll, "tools.a.warm = 1": forAll, `waive = ["macos", "net"]`: `must be "macos" or "windows", not "net"`,
	} {
		if _, err := Decode([]byte("[defaults]\n"+line+"\n"), "c.toml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	o, _ := layersIn(t)
	o.Project = []byte("[defaults]\npin_tools = \"off\"\n")
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "would hold for all of your servers") {
		t.Errorf("of a project: %v", err)
	}
}

// TestDefaultsOfProject checks that a program that a project's file names does not get the grants
// of the user's defaults, and that their refusals hold for it.
func TestDefaultsOfProject(t *testing.T) {
	o, _ := layersIn(t)
	o.User = testkitFile(t, `[defaults]
pin_tools = "enforce"
leaks = "off"
call_timeout_secs = 7
undo_total_mb = 5
limits.memory_mb = 9999
limits.processes = 9
sensitive_paths = ["~/mail"]
waive = ["macos"]
env = [{ name = "TEAM", read = true }, { name = "OTHER", read = false }]
[servers.mine]
command = "x"
undo = "call"
waive = ["net"]
`)
	o.Project = []byte("[servers.theirs]\ncommand = \"x\"\nundo = \"call\"\n")
	c, err := Load(o)
	must(t, err)
	for server, want := range map[string]string{
		"mine":   `[{TEAM true} {OTHER false}] 9999 9 enforce off 7s [~/mail] [macos net] 5`,
		"theirs": `[{OTHER false}] 4096 9 enforce warn 7s [~/mail] [] 5`,
	} {
		p, err := c.Policy(server, "")
		must(t, err)
		for i := range p.Env {
			p.Env[i].Where = ""
		}
		got := fmt.Sprintln(p.Env, p.Limits.MemoryMB, p.Limits.Processes, p.Packages.PinTools, p.Leaks, p.Call, p.Sensitive, p.Waive, p.Undo.TotalMB)
		if got = strings.NewReplacer("  }", "}", " }", "}").Replace(strings.TrimSpace(got)); got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}

// TestKeptSecrets checks that the files of the secrets of all servers and tools are kept from a server
// that is given on the command line, with and without defaults.
func TestKeptSecrets(t *testing.T) {
	const rule = "host = \"a.test\"\nallow = true\nsecret = { env = \"T\", file = %q }\n"
	servers := fmt.Sprintf("[servers.a]\ncommand = \"x\"\nstateful = false\n[[servers.a.access.net]]\n"+rule+"[[servers.a.tools.t.access.net]]\n"+rule, "~/one", "~/two")
	for text, want := range map[string]string{
		servers: "[~/one ~/two]", "[defaults]\nleaks = \"block\"\n" + servers: "[~/one ~/two]", "[servers.a]\ncommand = \"secret\"\n": "[]",
	} {
		o, _ := layersIn(t)
		o.User = testkitFile(t, text)
		d, err := LoadDefaults(o)
		must(t, err)
		p, err := FromCommandLine(CommandLineOptions{Command: []string{"x"}, Defaults: d})
		must(t, err)
		if got := fmt.Sprint(p.SecretFiles()); got != want || (p.Leaks == policy.LeaksBlock) != strings.Contains(text, "block") {
			t.Errorf("%s: %s, want %s; leaks %s", text, got, want, p.Leaks)
		}
	}
}

// TestDefaultsOfBrokenFile checks that a mistake in a file stops servers that are given on the
// command line only if the file may have defaults, or files of secrets.
func TestDefaultsOfBrokenFile(t *testing.T) {
	for text, want := range map[string]string{
		"[servers.a]\nnonsense = 1\n":                          "",
		"[servers.a]\nsecrets = 1\n":                           "secrets is not a known key",
		"[defaults]\n[servers.a]\nnonsense = 1\n":              "nonsense is not a known key",
		"[\"d\\u0065faults\"]\nlimits.memory_mb = 0\n":         "limits.memory_mb",
		"[\"\\x64\\x65\\x66\\x61ults\"]\nlimits.memory_mb = 0": "limits.memory_mb",
	} {
		o, _ := layersIn(t)
		o.User = testkitFile(t, text)
		if _, err := LoadDefaults(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDenialsForAllTools: a tool's own table lifts no denial of the one for all tools.
func TestDenialsForAllTools(t *testing.T) {
	c := decoded(t, `[servers.s]
command = "x"
stateful = false
tools."*".access.fs = [{ path = "/any", read = true }, { path = "/own/kept", deny = true }]
tools."*".access.net = [{ host = "a.test", allow = true }, { host = "kept.test", allow = false }]
tools."*".access.env = [{ name = "A", read = true }, { name = "KEPT", read = false }]
tools.own.access.fs = [{ path = "/own", read = true }]
tools.word.access.workspace = "read"
`)
	for tool, want := range map[string]string{"own": "[/own/kept /own] [kept.test] [KEPT]", "word": "[. /own/kept] [kept.test] [KEPT]", "other": "[/any /own/kept] [a.test kept.test] [A KEPT]"} {
		p, err := c.Policy("s", tool)
		must(t, err)
		if got := namesOf(p); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

// TestAnyTool tests the table for all tools that have none of their own.
func TestAnyTool(t *testing.T) {
	c := decoded(t, `[servers.s]
command = "x"
stateful = false
warm = 1
tools."*".warm = 2
tools."*".access.fs = [{ path = "/any", read = true }]
tools."*".access.sensitive_paths = ["all"]
tools.hides.access.sensitive_paths = ["hidden"]
tools.own.access.fs = [{ path = "/own", read = true }]
tools.warm.warm = 3
`)
	for tool, want := range map[string]string{"own": "/own 2 [all]", "warm": "/any 3 [all]", "other": "/any 2 [all]", "hides": "/any 2 [all hidden]", "": ". 1 []"} {
		p, err := c.Policy("s", tool)
		must(t, err)
		if got := fmt.Sprint(p.Fs[0].Path, " ", p.Warm, " ", p.Sensitive); got != want || len(p.Fs) != 1 {
			t.Errorf("%q: %s, want %s", tool, got, want)
		}
	}
	if got := fmt.Sprint(c.DeclaredTools("s"), c.HasAnyTool("s")); got != "[hides own warm] true" {
		t.Error(got)
	}
	if _, err := Decode([]byte("[servers.s]\ncommand = \"x\"\ntools.\"*\".access.fs = []\n"), "c.toml"); err == nil || !strings.Contains(err.Error(), "cannot be enforced") {
		t.Errorf("stateful: %v", err)
	}
}

// namesOf returns the paths, hosts and variables of a policy's rules.
func namesOf(p *policy.Policy) string {
	var paths, hosts, names []string
	for _, r := range p.Fs {
		paths = append(paths, r.Path)
	}
	for _, r := range p.Net {
		hosts = append(hosts, r.Host)
	}
	for _, r := range p.Env {
		names = append(names, r.Name)
	}
	return fmt.Sprint(paths, hosts, names)
}

// TestAnyToolReplaced tests that a strategy is for the lists of earlier files: what is denied for all tools holds for a tool
// whose lists replace those.
func TestAnyToolReplaced(t *testing.T) {
	const rules = `command = "x"
stateful = false
tools."*".access.fs = [{ path = "/any", read = true }, { path = "/all", deny = true }]
tools."*".access.net = [{ host = "all", allow = false }]
tools."*".access.env = [{ name = "ALL", read = false }]
tools.own.access.fs = { strategy = "replace", value = [{ path = "/own", read = true }] }
tools.own.access.net = { strategy = "replace", value = [{ host = "own", allow = true }] }
tools.own.access.env = { strategy = "replace", value = [{ name = "OWN", read = true }] }
`
	c := decoded(t, "[servers.s]\n"+rules)
	c.narrow("n", c.Servers["s"]) // a project's table says the same of another server
	c.Servers["n"] = decoded(t, "[servers.n]\ncommand = 'x'\nstateful = false\n").Servers["n"]
	for _, server := range []string{"s", "n"} {
		p, err := c.Policy(server, "own")
		must(t, err)
		if server == "n" {
			p = p.Narrow
		}
		testkit.Equal(t, server, namesOf(p), "[/all /own] [all own] [ALL OWN]")
	}
}
