package diagnostics

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

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
			// The answer is for a model, which should not grant itself anything.
			if got := strings.Contains(d.Text(), "to grant it: `mcp-jail grant github --last`"); got != (len(d.Flags) > 0 && len(d.Line) > 0) || strings.Contains(string(d.ErrorFrame([]byte("1")))+string(d.ResultBlock()), "mcp-jail grant") {
				t.Errorf("the command that grants it: %v\n%s%s", got, d.Text(), d.ResultBlock())
			}
			words := Record{Server: "github", Diagnoses: []Diagnosis{d}}.Text()
			args, _ := json.Marshal(d.Line[min(1, len(d.Line)):])
			if (len(d.Line) > 0) != strings.Contains(strings.ReplaceAll(words, `", "`, `","`), `"args": `+strings.ReplaceAll(string(args), `", "`, `","`)+"\n") {
				t.Errorf("%s", words)
			}
			if tt.declares && !strings.Contains(words, "\n# /etc/c.toml\n[servers.github]\ncommand = \"node\"\n[[servers.github.access.fs]]\npath = \".\"\n") {
				t.Errorf("%s", words)
			}
		})
	}
}

// TestOwnFile: what a server with a file of its own lacks is said as mcp-jail grant takes it.
func TestOwnFile(t *testing.T) {
	for file, want := range map[string]string{"/home/u/.config/mcp-jail/servers/github.toml": "grant --read ~/notes/a.md", "/home/u/.config/mcp-jail/config.toml": "[[servers.github.access.fs]]"} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		defaultProfile(ev.Profile)
		ev.File = file
		if d := Diagnose(ev); !strings.Contains(d.Fix, want) || strings.Contains(d.Fix, "keep the workspace") == strings.Contains(file, "/servers/") {
			t.Errorf("%s: %s, want %s", file, d.Fix, want)
		}
	}
}
