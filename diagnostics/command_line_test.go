package diagnostics

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCombinedLine checks that `mcp-jail why` prints one line with the grants of several
// failures.
func TestCombinedLine(t *testing.T) {
	line := func(s string) Diagnosis { return Diagnosis{Line: strings.Fields(s)} }
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --read a -- x y"}, ""},
		{[]string{"j run --write . --read a -- x y", "j run --write . --net h -- x y", "j run --env=A --write a -- x y"}, "j run --write . --read a --net h --env=A --write a -- x y"},
		{[]string{"j run --workspace a -- x", "j run --workspace b -- x"}, ""},
		{[]string{"j run --read a -- x", "j run --read b -- y"}, ""},
	} {
		var r Record
		for _, l := range tt.lines {
			r.Diagnoses = append(r.Diagnoses, line(l))
		}
		if got, ok := r.combined(); ok != (tt.want != "") || ok && !slices.Equal(got.line, strings.Fields(tt.want)) {
			t.Errorf("%q: %q", tt.lines, got)
		}
		if said := strings.Contains(r.Text(), "To grant all of this at once:"); said != (tt.want != "") {
			t.Errorf("%q: %s", tt.lines, r.Text())
		}
	}
}

// TestCommandLine checks that the record of a server given on the command line has the
// client's whole new command line. Responses do not contain it, because it holds the
// server's arguments.
func TestCommandLine(t *testing.T) {
	declare := func() []string { return []string{"# /etc/c.toml", "[servers.github]", `command = "node"`} }
	for _, tt := range []struct {
		name, text string
		line       []string
		change     func(*Evidence)
		want       string
		declares   bool
	}{
		{name: "a path", text: "EACCES: permission denied, open '/home/u/it's here/b'", line: []string{"/opt/mcp-jail", "run", "--", "node", "s.js", "--token", "a b"},
			want: "/opt/mcp-jail|run|--write|.|--read|~/it's here/b|--|node|s.js|--token|a b"},
		{name: "more flags", text: "EACCES: permission denied, open '/home/u/notes/a.md'", line: []string{"mcp-jail", "run", "--write", ".", "--", "node", "--", "x"},
			change: func(ev *Evidence) { ev.Profile.Default = false }, want: "mcp-jail|run|--write|.|--read|~/notes/a.md|--|node|--|x"},
		{name: "a program", text: "spawn rg ENOENT", line: []string{"mcp-jail", "run", "--", "node"}, want: "mcp-jail|run|--write|.|--execute|/opt/tools/bin/rg|--|node"},
		{name: "a secret", text: "EACCES: permission denied, open '/home/u/notes/a.md'", line: []string{"mcp-jail", "run", "--", "node", "ghp_0123456789abcdef"},
			want: "mcp-jail|run|--write|.|--read|~/notes/a.md|--|node|[redacted GITHUB_TOKEN]"},
		{name: "what no flag says", text: "", line: []string{"mcp-jail", "run", "--waive", "ipc", "--log-level=info", "--log-file", "x", "--read", "y", "--", "node"}, change: func(ev *Evidence) {
			ev.Profile.Net = []policy.NetRule{{Host: "a.b", Methods: []string{"GET"}, Allow: true}}
			ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "a.b:443", Reason: policy.DeniedRequest, Detail: "POST /: no rule"}}
		}, want: "mcp-jail|run|--log-level=info|--log-file|x|github", declares: true},
		{name: "nothing to add", text: "no such row", line: []string{"mcp-jail", "run", "--", "node"}},
		{name: "not known", text: "EACCES: permission denied, open '/home/u/notes/a.md'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			defaultProfile(ev.Profile)
			ev.FromCommandLine, ev.CommandLine, ev.Declare = true, tt.line, declare
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Line, "|"); got != tt.want || (d.Declare != nil) != tt.declares {
				t.Fatalf("line %s, want %s; declares %q\n%s", got, tt.want, d.Declare, d.Text())
			}
			for _, told := range []string{string(d.ErrorFrame([]byte("1"))), string(d.ErrorData()), string(d.ResultBlock()), d.Text()} {
				if strings.Contains(told, "s.js") || strings.Contains(told, `command = "node"`) {
					t.Errorf("the arguments are told: %s", told)
				}
			}
			words := Record{Server: "github", Diagnoses: []Diagnosis{d}}.Text()
			args, _ := json.Marshal(lastN(d.Line, max(0, len(d.Line)-1)))
			if (len(d.Line) > 0) != strings.Contains(strings.ReplaceAll(words, `", "`, `","`), `"args": `+strings.ReplaceAll(string(args), `", "`, `","`)+"\n") {
				t.Errorf("%s", words)
			}
			if tt.declares && !strings.Contains(words, "\n# /etc/c.toml\n[servers.github]\ncommand = \"node\"\n[[servers.github.access.fs]]\npath = \".\"\n") {
				t.Errorf("%s", words)
			}
		})
	}
	var b strings.Builder
	addition{line: []string{"mcp-jail", "run", "--read", "~/it's here", "--", "a\x1b[31mb"}}.write(&b, nil)
	if got := b.String(); strings.Count(got, "mcp-jail") != 0 || !strings.Contains(got, `"~/it's here"`) || strings.Contains(got, "\x1b") {
		t.Errorf("a line that no shell is to be given: %q", got)
	}
	b.Reset()
	addition{line: []string{"mcp-jail", "run", "--read", "~/it's here", "--", "a"}}.write(&b, nil)
	if !slices.Contains(strings.Split(b.String(), "\n"), `mcp-jail run --read ~/'it'\''s here' -- a`) {
		t.Errorf("typed: %s", b.String())
	}
}
