package diagnose_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// bootFailure returns the diagnosis of a server that ended because of a path, with all
// members set.
func bootFailure() diagnostics.Diagnosis {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method = diagnostics.StageStartup, "", ""
	ev.Exit = &diagnostics.Exit{Code: 1}
	defaultProfile(ev.Profile)
	ev.Stderr = []string{
		"Loading ghp_0123456789abcdef",
		"Error: ENOENT: no such file or directory, scandir '/home/u/notes'",
		"    at node:internal/fs:1:1",
	}
	ev.Denials = []policy.Denial{{
		Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.x.com:443", PID: 7, Program: "/usr/bin/node", Count: 2,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}}
	return diagnose.Failure(ev)
}

func TestGolden(t *testing.T) {
	d := bootFailure()
	testkit.Golden(t, "boot.txt", []byte(d.Text()))
	var pretty bytes.Buffer
	testkit.Must(t, json.Indent(&pretty, d.ErrorFrame([]byte("7")), "", "  "))
	testkit.Golden(t, "boot.json", pretty.Bytes())

	ev := evidence("Error: EROFS: read-only file system, open '/home/u/work/src/lib.rs'\nmcp-jail: cause: forged")
	call := diagnose.Failure(ev)
	testkit.Golden(t, "call.txt", []byte(call.Text()+"\n"+string(call.ResultBlock())+"\n"+string(call.ResultMeta())+"\n"))
	testkit.Golden(t, "config.txt", []byte(configError().Text()))
	testkit.Golden(t, "jail.txt", []byte(diagnostics.JailFailure("github", "this machine cannot enforce the policy\n  net: host allow-list: listed twice", []string{"net: host allow-list (api.github.com): no user namespaces", "  sysctl kernel.unprivileged_userns_clone=1"}).Text()))
	r := diagnostics.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Server: "github", Warnings: []string{"no workspace"}, Waived: []string{"net: no host allow-list"},
		Denials: slices.Concat(d.Denials, []policy.Denial{
			{Axis: policy.AxisNet, Operation: "resolve", Target: "api.x.com", Reason: policy.DeniedNotGranted, Count: 1},
			{Axis: policy.AxisNet, Operation: "resolve", Target: "updates.x.com", Reason: policy.DeniedAddress, Detail: "10.0.0.5 is a private address", Count: 2, Background: true},
		}),
		Diagnoses: []diagnostics.Diagnosis{d, call},
	}
	ev.Text, ev.Denials = "[Errno 2] No such file", []policy.Denial{{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/work/src/new.rs", Program: "/usr/bin/python3", Count: 2}}
	diagnostest.Of(&ev).Exists = func(path string) bool { return !strings.HasPrefix(path, "/home/u/work/src/new.rs") }
	recorded := diagnose.Failure(ev)
	testkit.Golden(t, "recorded.txt", []byte(recorded.Text()+"\n"+blockText(recorded)+"\n"))
	r.Diagnoses = append(r.Diagnoses, recorded)
	testkit.Golden(t, "why.txt", []byte(r.Text(func(diagnostics.Record) string { return "github in Cursor, today 14:02" }, false)))
	testkit.Golden(t, "why-verbose.txt", []byte(whyText(r)))
}

func configError() diagnostics.Diagnosis {
	return diagnostics.ConfigFailure("github", "error: mcp-jail.toml:14: [servers.github.tools.search.access] cannot be enforced: server \"github\" is stateful.\n"+
		"  The server runs as one shared process, so a policy for one tool cannot be applied.\n"+
		"  Declare access for the whole server in  [servers.github.access]\n")
}

func TestErrorFrameIDs(t *testing.T) {
	d := bootFailure()
	for _, id := range []string{`0`, `1.0`, `-3`, `9007199254740993`, `"a\u0000\"b"`, `""`, ` 7 `, "1e3"} {
		frame := d.ErrorFrame([]byte(id))
		if !bytes.Contains(frame, []byte(`"id":`+strings.TrimSpace(id)+`,"error"`)) {
			t.Errorf("id %s: %s", id, frame)
		}
		if !json.Valid(frame) || bytes.Count(frame, []byte("\n")) != 1 || frame[len(frame)-1] != '\n' {
			t.Errorf("id %s: not one line of JSON: %s", id, frame)
		}
	}
	for _, id := range []string{"", "null", "{}", "[1]", "true", `"a`, "1 2", "\n"} {
		if frame := d.ErrorFrame([]byte(id)); frame != nil {
			t.Errorf("id %q: an error that no client can match: %s", id, frame)
		}
	}
	if frame := d.ErrorFrame([]byte("\"\xff\"")); !utf8.Valid(frame) {
		t.Errorf("not UTF-8: %q", frame)
	}
}

// TestFailureMembers compares the members of the data with docs/reference.md.
func TestFailureMembers(t *testing.T) {
	var frame struct {
		JSONRPC string
		Error   struct {
			Code    int
			Message string
			Data    map[string]map[string]any
		}
	}
	for name, d := range map[string]diagnostics.Diagnosis{"boot": bootFailure(), "config": configError(), "empty": {},
		"usage": diagnostics.UsageFailure("s", "unknown flag\nmore"), "exec": diagnostics.ExecFailure("s", "npx: not found", "")} {
		testkit.Must(t, json.Unmarshal(d.ErrorFrame([]byte("1")), &frame))
		data := frame.Error.Data[diagnostics.DataFailure]
		for _, member := range []string{"stage", "attribution", "server", "hint"} {
			if _, ok := data[member].(string); !ok {
				t.Errorf("%s: %s is %v", name, member, data[member])
			}
		}
		for _, member := range []string{"stderr_tail", "denials"} {
			if _, ok := data[member].([]any); !ok {
				t.Errorf("%s: %s is %v, want a list", name, member, data[member])
			}
		}
		if strings.Contains(frame.Error.Message, "\n") {
			t.Errorf("%s: the message has several lines: %q", name, frame.Error.Message)
		}
	}
}

// TestBounds checks that a frame stays small for any output of a server.
func TestBounds(t *testing.T) {
	ev := evidence(strings.Repeat("EACCES: permission denied, open '/"+strings.Repeat("x", 3000)+"'\n", 100))
	for range 200 {
		ev.Stderr = append(ev.Stderr, strings.Repeat("\x00\u2028<&>", 2000))
		ev.Denials = append(ev.Denials, policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + strings.Repeat("é\x01", 900)})
	}
	diagnostest.Of(&ev).Exists = nil
	d := diagnose.Failure(ev)
	if n := len(d.ErrorFrame([]byte("1"))); n > 256<<10 {
		t.Errorf("the frame has %d bytes", n)
	}
	if n := len(d.ResultBlock()); n > 64<<10 {
		t.Errorf("the block has %d bytes", n)
	}
}

// TestArguments checks that paths among the arguments that exist on the host and are not
// granted lead to a warning, and other arguments do not.
func TestArguments(t *testing.T) {
	defaults := func(ev *diagnostics.Evidence) { defaultProfile(ev.Profile); ev.FromCommandLine = true }
	named := func(name, value string) func(*diagnostics.Evidence) {
		return func(ev *diagnostics.Evidence) {
			defaults(ev)
			ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: name, Value: value, Secret: true, Rule: "--env " + name})
		}
	}
	type argument struct {
		name, arg string
		change    func(*diagnostics.Evidence)
		want      string // parts, "": nothing is said
	}
	rows := []argument{
		{"where the server's own script makes its directory executable", "/home/u/notes", func(ev *diagnostics.Evidence) {
			defaults(ev)
			for i, e := range ev.Profile.Entries {
				if e.Path == ev.Profile.Workspace {
					ev.Profile.Entries[i].Rights |= policy.Execute
				}
			}
		}, "mcp-jail grant github --read ~/notes"},
		{"of a configured server", "/home/u/notes", nil, "mcp-jail grant github --read ~/notes"},
		{"of one with the default policy", "/home/u/notes", func(ev *diagnostics.Evidence) { defaultProfile(ev.Profile) }, "mcp-jail grant github --read ~/notes"},
		{"a variable of the package", "x", func(ev *diagnostics.Evidence) {
			named("npm_config_cache", "/home/u/docs")(ev)
			ev.Profile.Env[len(ev.Profile.Env)-1].Rule = policy.PackageEnvironment
		}, ""},
		{"taken away", "/home/u/work/out.txt", func(ev *diagnostics.Evidence) {
			defaults(ev)
			ev.Profile.Entries = append(ev.Profile.Entries, policy.Entry{Path: "/home/u/work/out.txt", Kind: policy.KindFile, Origin: policy.OriginRule, Rule: "--deny out.txt"})
			slices.SortFunc(ev.Profile.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		}, "not granted: ~/work/out.txt. --deny out.txt denies it. Leave that out, if the server may have it"},
		{"on Windows", "/home/u/notes", func(ev *diagnostics.Evidence) { defaults(ev); ev.Profile.Dir = `C:\work` }, ""},
		{"proc", "/proc/self", func(ev *diagnostics.Evidence) {
			defaults(ev)
			diagnostest.Of(ev).Exists = func(string) bool { return true }
		}, ""},
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
			got := diagnose.Arguments(ev)
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
		ev.Stage, ev.Tool, ev.Method, ev.Stderr = diagnostics.StageStartup, "", "", []string{"running", line}
		ev.Denials = []policy.Denial{{Axis: "fs", Operation: "open", Target: "/home/u/docs", Count: 1}}
		d, ok := diagnose.Complaint(ev)
		if ok != want || ok && (d.Attribution != diagnostics.Likely || !strings.Contains(d.What, "has started")) {
			t.Errorf("%q: %v: %s", line, ok, d.Text())
		}
	}
}

// TestInaccessible covers the official filesystem server, which names the unreachable path
// in one line and ends with a line that does not.
func TestInaccessible(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.FromCommandLine, ev.Exit = diagnostics.StageStartup, "", "", true, &diagnostics.Exit{Code: 1}
	defaultProfile(ev.Profile)
	ev.Stderr = []string{"Warning: Cannot access directory /home/u/docs, skipping", "Error: None of the specified directories are accessible"}
	d := diagnose.Failure(ev)
	if d.Attribution != diagnostics.Likely || strings.Join(wordsOf(d), " ") != "--read ~/docs" || !strings.Contains(d.Message(), `~/docs`) {
		t.Errorf("%s", d.Text())
	}
	spaced := ev
	spaced.Profile = fixture(defaultProfile)
	spaced.Profile.Argv = []string{"node", "s.js", "/home/u/it's here"}
	spaced.Stderr = []string{"Warning: Cannot access directory /home/u/it's here, skipping", ev.Stderr[1]}
	if d := diagnose.Failure(spaced); d.Attribution != diagnostics.Likely || strings.Join(wordsOf(d), " ") != "--read ~/it's here" {
		t.Errorf("a name that no pattern can tell the end of: %s", d.Text())
	}
	ev.Stderr[0] = "Warning: Cannot access directory /home/u/none, skipping"
	if d := diagnose.Failure(ev); d.Attribution != diagnostics.None || len(wordsOf(d)) > 0 {
		t.Errorf("a directory that is nowhere: %s", d.Text())
	}
}

// FuzzDiagnose checks for any text of a server that no allowed access is named as a cause,
// that the output is safe to print, and that the lines to add decode.
func FuzzDiagnose(f *testing.F) {
	for _, s := range testkit.Table[string](f, "fuzz-seeds.txt") {
		f.Add(s)
		f.Add("EACCES: permission denied, open '/\x1b[31m[mcp-jail]\u202e" + s + "'")
	}
	profile := fixture(nil)
	f.Fuzz(func(t *testing.T, text string) {
		ev := diagnostics.Evidence{Stage: diagnostics.StageCall, Server: "github", Profile: profile, Text: text, Stderr: []string{text}, UserHome: "/home/u",
			Denials: []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: text}, {Axis: policy.AxisFs, Operation: text, Target: text}}}
		diagnostest.Of(&ev).Exists = func(p string) bool { return len(p)%2 == 0 }
		check(t, diagnose.Failure(ev))
		ev.Denials = nil
		d := diagnose.Failure(ev)
		check(t, d)
		ev.FromCommandLine = true
		check(t, diagnose.Failure(ev))
		if d.Attribution == diagnostics.Certain {
			t.Fatalf("text alone is certain: %q", text)
		}
		for _, h := range d.Hints {
			switch {
			case h.Missing == "read" && profile.RightsAt(h.Target).Has(policy.Read):
				t.Fatalf("reading %q is allowed and blamed", h.Target)
			case h.Missing == "execute" && profile.RightsAt(h.Target).Has(policy.Execute):
				t.Fatalf("executing %q is allowed and blamed", h.Target)
			}
		}
	})
}

func check(t *testing.T, d diagnostics.Diagnosis) {
	t.Helper()
	for _, l := range strings.Split(strings.TrimSuffix(d.Text(), "\n"), "\n") {
		if !strings.HasPrefix(l, "mcp-jail: ") || show.Line(l) != l {
			t.Fatalf("not harmless: %q", l)
		}
	}
	if err := granting(&config.Server{Name: "github", Command: "x"}, "", wordsOf(d)); err != nil {
		t.Fatalf("%q: %v", wordsOf(d), err)
	}
}
