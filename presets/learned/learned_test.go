package learned

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/learn"
	"github.com/mcp-jail/mcp-jail/presets"
)

const home = "/home/wilma"

func fs(p string, rights policy.Rights) learn.Rule {
	return learn.Rule{ID: "fs:" + p, Axis: policy.AxisFs, Fs: &policy.FsRule{
		Path: p, Read: rights.Has(policy.Read), Create: rights.Has(policy.Create), Update: rights.Has(policy.Update), Delete: rights.Has(policy.Delete),
	}}
}

func net(host string) learn.Rule {
	return learn.Rule{ID: "net:" + host, Axis: policy.AxisNet, Net: &policy.NetRule{Host: host, Scheme: "https", Allow: true}}
}

func env(name string) learn.Rule {
	return learn.Rule{ID: "env:" + name, Axis: policy.AxisEnv, Env: &policy.EnvRule{Name: name, Read: true}}
}

func command(name string, args ...[]string) learn.Rule {
	return learn.Rule{ID: "process:" + name, Axis: policy.AxisProcess, Command: &policy.CommandRule{Name: name, Args: args}}
}

func input(rules ...learn.Rule) Input {
	return Input{
		Name: "weather", Title: "Weather 1.0", Package: presets.Package{Ecosystem: presets.NPM, Name: "weather-mcp", Versions: []string{"1.2.3"}},
		Result:    &learn.Result{Name: "w", Command: "npx", Stateful: true, Tables: []learn.Table{{Rules: rules}}},
		Workspace: home + "/work/secretproject", Home: home, Private: []string{"wilma", "wilmas-laptop", "Feuerstein"},
		IsFile: func(p string) bool { return strings.HasSuffix(p, ".json") }, Day: "2026-11-27", Requests: 4,
	}
}

func mustMake(t *testing.T, in Input) (*Preset, *presets.Preset) {
	t.Helper()
	made, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	p, err := presets.Read(made.Text, "/weather.toml")
	if err != nil {
		t.Fatalf("%s\n%s", err, made.Text)
	}
	return made, p
}

// TestMake tests that the preset grants to another user, with arguments and variables of their own, what the policy
// granted to the first, and that it has no name of the first.
func TestMake(t *testing.T) {
	in := input(
		fs("~/notes/a/b.md", policy.Read), fs(home+"/notes", policy.Read|policy.Create), fs("data/x.db", policy.Read|policy.Update), fs("~/.weather/cache", policy.Read),
		fs("/etc/weather.conf", policy.Read), fs("/srv/feuerstein/x", policy.Read), fs("/srv/plain/x", policy.Read), fs("~/Documents/tax", policy.Read), fs("~/.config/app/me@example.org", policy.Read),
		fs("~/.config/wilma", policy.Read), fs("/data/list.json", policy.Read),
		net("api.weather.example"), net("gitlab.firm.example"), net("wilmas-laptop"), env("WEATHER_KEY"),
		command("git", []string{"log", "**"}), command(home+"/bin/own"), command("sh", []string{home + "/x.sh"}),
	)
	in.Words = []string{home + "/notes", "--verbose", "--list", "/data/list.json", "--url=https://u:pw@gitlab.firm.example/x"}
	in.Values = map[string]string{"WEATHER_KEY": "k3y-value"}
	in.NotCalled, in.ReadOnly = []string{"drop"}, []string{"z", "a", "a"}
	made, p := mustMake(t, in)
	for _, word := range []string{"wilma", "feuerstein", "secretproject", "k3y-value", "notes", "tax", "me@", "firm", "pw", "list.json", "b.md", "x.db", "x.sh"} {
		if strings.Contains(strings.ToLower(string(made.Text)), word) {
			t.Errorf("the preset has %q:\n%s", word, made.Text)
		}
	}
	if len(made.LeftOut) != 8 {
		t.Errorf("%d rules are left out, want 8:\n%s", len(made.LeftOut), strings.Join(made.LeftOut, "\n"))
	}
	for _, want := range []string{"# Not called, so what they need is not known: drop.", "8 of its rules", "answers to 4 requests", "Wider than what was verified: the workspace, argument 1 "} {
		if !strings.Contains(string(made.Text), want) {
			t.Errorf("the head does not say %q:\n%s", want, made.Text)
		}
	}
	applied := p.For(presets.Entry{
		Args: []string{"/home/fred/texts", "--verbose", "--list", "/l.json", "--url=https://git.fred.example"},
		Env:  map[string]string{"WEATHER_KEY": "x"},
	})
	got := []string{}
	for _, r := range applied.Server.Access.Fs {
		got = append(got, r.Path+" "+r.Rights().String())
	}
	for _, r := range applied.Server.Access.Net {
		got = append(got, r.Host)
	}
	slices.Sort(got)
	want := []string{". read update", "/etc/weather.conf read", "/home/fred/texts read create", "/l.json read", "api.weather.example", "git.fred.example", "~/.weather/cache read"}
	if !slices.Equal(got, want) {
		t.Errorf("it grants\n%q, want\n%q\n%s", got, want, made.Text)
	}
	if c := applied.Server.Access.Commands; len(c) != 1 || len(c["git"]) != 1 || len(applied.Server.Variables) != 1 || !slices.Equal(p.ReadOnly, []string{"a", "z"}) {
		t.Errorf("programs %v, variables %v, tools %v", c, applied.Server.Variables, p.ReadOnly)
	}
}

// TestPrivate tests which texts are the user's.
func TestPrivate(t *testing.T) {
	m := &maker{Input: input()}
	m.Private = append(m.Private, "al", "desk")
	m.Words = []string{"--token=t0k3n-of-mine", "sqlite", "https://u:pa55word@db.example/x", "-v"}
	m.Values = map[string]string{"KEY": "v4lue"}
	for _, c := range []struct {
		text string
		is   bool
	}{
		{"/etc/weather.conf", false}, {home + "/.weather/cache", false}, {"/usr/share/algol", false}, {home + "/.config/desktop", false}, {"sqlite", false},
		{"/opt/WILMA/x", true}, {"/opt/al/x", true}, {home + "/.config/al", true}, {home + "/.cache/run-desk-1", true}, {home + "/.config/wilma", true},
		{"/usr/bin:" + home + "/bin", true}, {home + "/.cache/secretproject-1f", true}, {home + "/.cache/x/-home-u-secretproject", true},
		{"t0k3n-of-mine", true}, {"x-t0k3n-of-mine-y", true}, {"pa55word", true}, {"x=v4lue", true}, {"me@example.org", true}, {"@scope", true}, {"/x/@scope/y", false},
	} {
		if is := m.isPrivate(c.text); is != c.is {
			t.Errorf("%s: %t, want %t", c.text, is, c.is)
		}
	}
	if m.Home = "/data/h"; !m.isPrivate("/usr/bin:/data/h/bin") {
		t.Error("a list with a path of the home directory is not private")
	}
	m.Package.Name, m.Home = "secretproject-mcp", "/"
	for _, text := range []string{"/.secretproject/cache", "/etc/x"} {
		if m.isPrivate(text) {
			t.Errorf("%s is private where the workspace is called as the package", text)
		}
	}
}

// TestTokens: a token of the command line, and what only a machine or network has by a name, are in no preset.
func TestTokens(t *testing.T) {
	in := input(command("login", []string{"--with", "t0k3n-of-mine"}), command("git", []string{"status"}), net("printer"), net("nas.lan"), net("10.1.2.3"), net("localhost"), net("api.weather.example"))
	in.Words, in.NotCalled, in.ReadOnly, in.Title = []string{"--token", "x", "--token=t0k3n-of-mine"}, []string{"drop_wilma"}, []string{"read_wilma", "read"}, strings.Repeat("long ", 100)
	made, p := mustMake(t, in)
	for _, word := range []string{"t0k3n", "printer", "nas.lan", "10.1", "localhost", "wilma", "long"} {
		if strings.Contains(string(made.Text), word) {
			t.Errorf("the preset has %q:\n%s", word, made.Text)
		}
	}
	if len(made.LeftOut) != 5 || len(p.Server.Access.Net) != 1 || len(p.Server.Access.Commands) != 1 || !slices.Equal(p.ReadOnly, []string{"read"}) {
		t.Errorf("%q are left out of\n%s", made.LeftOut, made.Text)
	}
	in.ReadOnly = nil
	for i := range 4000 {
		in.ReadOnly = append(in.ReadOnly, "tool"+number(i))
	}
	if made, _ := mustMake(t, in); len(made.Text) > presets.MaxFile {
		t.Errorf("%d bytes", len(made.Text))
	}
}

// TestTables: of a lesson with a table for each tool, the preset has the rules of all, and says that this is wider.
func TestTables(t *testing.T) {
	in := input()
	in.Result.Stateful, in.Result.Tables = false, []learn.Table{
		{Tool: "*", Rules: []learn.Rule{fs("~/.x", policy.Read)}},
		{Tool: "a", Rules: []learn.Rule{fs("~/.x", policy.Read|policy.Update), command("git", []string{"log"})}},
		{Tool: "b", Rules: []learn.Rule{net("api.weather.example"), command("git", []string{"status"})}},
	}
	made, p := mustMake(t, in)
	access := p.Server.Access
	if p.Stateful || len(access.Fs) != 1 || access.Fs[0].Rights() != policy.Read|policy.Update || len(access.Net) != 1 || len(access.Commands["git"]) != 1 || len(access.Commands["git"][0].Args) != 2 ||
		!strings.Contains(string(made.Text), "each tool has here what any of them needs") {
		t.Errorf("%+v\n%s", access, made.Text)
	}
}

// TestDirectories: several words that all are directories become each word; one alone stays a position, and so
// does one beside another word.
func TestDirectories(t *testing.T) {
	for _, c := range []struct {
		words []string
		rest  bool
	}{
		{[]string{"/d/a", "/d/b"}, true}, {[]string{"/d/a"}, false}, {[]string{"/d/a", "word", "/d/b"}, false}, {[]string{"/d/a", "/d/x.json"}, false},
	} {
		in := input(fs("/d/a", policy.Read), fs("/d/b/in", policy.Read), fs("/d/x.json", policy.Read))
		in.Words = c.words
		_, p := mustMake(t, in)
		if rest := len(p.Arguments) == 1 && p.Arguments[0].Rest; rest != c.rest {
			t.Errorf("%q: rest %t, want %t: %+v", c.words, rest, c.rest, p.Arguments)
		}
	}
}

// TestNotVerified: the head says it, and a server that each call starts anew is said to be one.
func TestNotVerified(t *testing.T) {
	in := input(fs(".", policy.Read))
	in.Doubt, in.Result.Stateful = "under this policy 2 answers are not the same\n[servers.x]", false
	made, p := mustMake(t, in)
	if text := string(made.Text); !strings.Contains(text, "# NOT VERIFIED: under this policy") || strings.Contains(text, "# Verified") || strings.Contains(text, "Wider") || p.Stateful {
		t.Errorf("%s", made.Text)
	}
}

// TestHostileNames: what a server calls itself and its tools cannot write into the file.
func TestHostileNames(t *testing.T) {
	in := input(fs("~/.x\"] # y", policy.Read))
	in.Title, in.NotCalled, in.ReadOnly = "t\"\n[preset.jail]\nvariables = { A = \"b\" }", []string{"n\n[servers.weather.access]"}, []string{"\"]\nx"}
	_, p := mustMake(t, in)
	if len(p.Jail.Variables) > 0 || len(p.Server.Access.Fs) != 1 || p.Title != in.Title || !slices.Equal(p.ReadOnly, in.ReadOnly) {
		t.Errorf("%+v", p)
	}
}
