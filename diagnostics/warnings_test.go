package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestArguments checks that paths among the arguments that exist on the host and are not
// granted lead to a warning, and other arguments do not.
func TestArguments(t *testing.T) {
	defaults := func(ev *Evidence) { defaultProfile(ev.Profile); ev.FromCommandLine = true }
	named := func(name, value string) func(*Evidence) {
		return func(ev *Evidence) {
			defaults(ev)
			ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: value, Secret: true, Rule: "--env " + name})
		}
	}
	type argument struct {
		name, arg string
		change    func(*Evidence)
		want      string // parts, "": nothing is said
	}
	rows := []argument{
		{"where the server's own script makes its directory executable", "/home/u/notes", func(ev *Evidence) {
			defaults(ev)
			for i, e := range ev.Profile.Entries {
				if e.Path == ev.Profile.Workspace {
					ev.Profile.Entries[i].Rights |= policy.Execute
				}
			}
		}, "mcp-jail grant github --read ~/notes"},
		{"of a configured server", "/home/u/notes", nil, "mcp-jail grant github --read ~/notes"},
		{"of one with the default policy", "/home/u/notes", func(ev *Evidence) { defaultProfile(ev.Profile) }, "mcp-jail grant github --read ~/notes"},
		{"a variable of the package", "x", func(ev *Evidence) {
			named("npm_config_cache", "/home/u/docs")(ev)
			ev.Profile.Env[len(ev.Profile.Env)-1].Rule = policy.PackageEnvironment
		}, ""},
		{"taken away", "/home/u/work/out.txt", func(ev *Evidence) {
			defaults(ev)
			ev.Profile.Entries = append(ev.Profile.Entries, policy.Entry{Path: "/home/u/work/out.txt", Kind: policy.KindFile, Origin: policy.OriginRule, Rule: "--deny out.txt"})
			slices.SortFunc(ev.Profile.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		}, "not granted: out.txt. Leave out --deny out.txt, if the server may have out.txt"},
		{"on Windows", "/home/u/notes", func(ev *Evidence) { defaults(ev); ev.Profile.Dir = `C:\work` }, ""},
		{"proc", "/proc/self", func(ev *Evidence) { defaults(ev); ev.Exists = func(string) bool { return true } }, ""},
	}
	for _, row := range testkit.Rows(t, "arguments.txt", 4) {
		change := defaults
		if name, value, ok := strings.Cut(row[2], "="); ok {
			change = named(name, value)
		}
		rows = append(rows, argument{row[0], row[1], change, row[3]})
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence("")
			if tt.change != nil {
				tt.change(&ev)
			}
			ev.Profile.Argv = []string{"node", "/home/u/work/server.js", tt.arg}
			got := Arguments(ev)
			if (got == "") != (tt.want == "") {
				t.Errorf("said %q", got)
			}
			for want := range strings.SplitSeq(tt.want, "|") {
				if !strings.Contains(got, want) {
					t.Errorf("said %q, without %q", got, want)
				}
			}
		})
	}
}

// TestComplaint checks that the stderr of a started server counts where it names something
// that the policy refuses.
func TestComplaint(t *testing.T) {
	for line, want := range testkit.Named[bool](t, "complaints.txt") {
		ev := evidence("")
		ev.Stage, ev.Tool, ev.Method, ev.Stderr = StageStartup, "", "", []string{"running", line}
		ev.Denials = []policy.Denial{{Axis: "fs", Operation: "open", Target: "/home/u/docs", Count: 1}}
		d, ok := Complaint(ev)
		if ok != want || ok && (d.Attribution != Likely || !strings.Contains(d.What, "has started")) {
			t.Errorf("%q: %v: %s", line, ok, d.Text())
		}
	}
}

// TestInaccessible covers the official filesystem server, which names the unreachable path
// in one line and ends with a line that does not.
func TestInaccessible(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.FromCommandLine, ev.Exit = StageStartup, "", "", true, &Exit{Code: 1}
	defaultProfile(ev.Profile)
	ev.Stderr = []string{"Warning: Cannot access directory /home/u/docs, skipping", "Error: None of the specified directories are accessible"}
	d := Diagnose(ev)
	if d.Attribution != Likely || strings.Join(d.Words, " ") != "--read ~/docs" || !strings.Contains(d.Message(), `~/docs`) {
		t.Errorf("%s", d.Text())
	}
	spaced := ev
	spaced.Profile = fixture(defaultProfile)
	spaced.Profile.Argv = []string{"node", "s.js", "/home/u/it's here"}
	spaced.Stderr = []string{"Warning: Cannot access directory /home/u/it's here, skipping", ev.Stderr[1]}
	if d := Diagnose(spaced); d.Attribution != Likely || strings.Join(d.Words, " ") != "--read ~/it's here" {
		t.Errorf("a name that no pattern can tell the end of: %s", d.Text())
	}
	ev.Stderr[0] = "Warning: Cannot access directory /home/u/none, skipping"
	if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 {
		t.Errorf("a directory that is nowhere: %s", d.Text())
	}
}
