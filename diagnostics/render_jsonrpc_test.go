package diagnostics

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// bootFailure returns the diagnosis of a server that ended because of a path, with all
// members set.
func bootFailure() Diagnosis {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method = StageStartup, "", ""
	ev.Exit = &Exit{Code: 1}
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
	return Diagnose(ev)
}

func TestGolden(t *testing.T) {
	d := bootFailure()
	testkit.Golden(t, "boot.txt", []byte(d.Text()))
	var pretty bytes.Buffer
	testkit.Must(t, json.Indent(&pretty, d.ErrorFrame([]byte("7")), "", "  "))
	testkit.Golden(t, "boot.json", pretty.Bytes())

	ev := evidence("Error: EROFS: read-only file system, open '/home/u/work/src/lib.rs'\nmcp-jail: cause: forged")
	call := Diagnose(ev)
	testkit.Golden(t, "call.txt", []byte(call.Text()+"\n"+string(call.ResultBlock())+"\n"+string(call.ResultMeta())+"\n"))
	testkit.Golden(t, "config.txt", []byte(configError().Text()))
	testkit.Golden(t, "jail.txt", []byte(JailFailure("github", "this host cannot enforce the policy\n  net: host allow-list: listed twice", []string{"net: host allow-list (api.github.com): no user namespaces", "  sysctl kernel.unprivileged_userns_clone=1"}).Text()))
	r := Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Server: "github", Warnings: []string{"no workspace"}, Waived: []string{"net: no host allow-list"},
		Denials: slices.Concat(d.Denials, []policy.Denial{
			{Axis: policy.AxisNet, Operation: "resolve", Target: "api.x.com", Reason: policy.DeniedNotGranted, Count: 1},
			{Axis: policy.AxisNet, Operation: "resolve", Target: "updates.x.com", Reason: policy.DeniedAddress, Detail: "10.0.0.5 is a private address", Count: 2, Background: true},
		}),
		Diagnoses: []Diagnosis{d, call},
	}
	ev.Text, ev.Denials = "[Errno 2] No such file", []policy.Denial{{Axis: policy.AxisFs, Operation: "create", Target: "/home/u/work/src/new.rs", Program: "/usr/bin/python3", Count: 2}}
	ev.Exists = func(path string) bool { return !strings.HasPrefix(path, "/home/u/work/src/new.rs") }
	recorded := Diagnose(ev)
	testkit.Golden(t, "recorded.txt", []byte(recorded.Text()+"\n"+blockText(recorded)+"\n"))
	r.Diagnoses = append(r.Diagnoses, recorded)
	testkit.Golden(t, "why.txt", []byte(r.Text(func(Record) string { return "github in Cursor, today 14:02" }, false)))
	testkit.Golden(t, "why-verbose.txt", []byte(whyText(r)))
}

func configError() Diagnosis {
	return ConfigFailure("github", "error: mcp-jail.toml:14: [servers.github.tools.search.access] cannot be enforced: server \"github\" is stateful.\n"+
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
	for name, d := range map[string]Diagnosis{"boot": bootFailure(), "config": configError(), "empty": {},
		"usage": UsageFailure("s", "unknown flag\nmore"), "exec": ExecFailure("s", "npx: not found", "")} {
		testkit.Must(t, json.Unmarshal(d.ErrorFrame([]byte("1")), &frame))
		data := frame.Error.Data[DataFailure]
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
	ev := evidence(strings.Repeat("EACCES: permission denied, open '/"+strings.Repeat("x", 3000)+"'\n", 600))
	for range 1000 {
		ev.Stderr = append(ev.Stderr, strings.Repeat("\x00\u2028<&>", 2000))
		ev.Denials = append(ev.Denials, policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: "/" + strings.Repeat("é\x01", 900)})
	}
	ev.Exists = nil
	d := Diagnose(ev)
	if n := len(d.ErrorFrame([]byte("1"))); n > 256<<10 {
		t.Errorf("the frame has %d bytes", n)
	}
	if n := len(d.ResultBlock()); n > 64<<10 {
		t.Errorf("the block has %d bytes", n)
	}
}
