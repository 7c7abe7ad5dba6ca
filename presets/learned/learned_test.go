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
		fs("/etc/weather.conf", policy.Read), fs("/srv/feuerstein/x", policy.Read), fs("~/Documents/tax", policy.Read), fs("~/.config/app/me@example.org", policy.Read),
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
	if len(made.LeftOut) != 7 {
		t.Errorf("%d rules are left out, want 7:\n%s", len(made.LeftOut), strings.Join(made.LeftOut, "\n"))
	}
	for _, want := range []string{"# Not called, so what they need is not known: drop.", "7 of its rules", "answers to 4 requests", "Wider than what was verified: the workspace, argument 1 "} {
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
