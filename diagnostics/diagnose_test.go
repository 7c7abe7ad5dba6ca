package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// failureText is a text and the diagnosis expected for it.
type failureText struct {
	name, text string
	want       Attribution
	target     string // of the first hint
	missing    string
	grant      string // joined with "; "; "" is none
}

// otherTexts cover forms of a text.
var otherTexts = []failureText{
	{"plain error", `Invalid arguments: query is required`, None, "", "", ""},
	{"names in longer words", "ModuleNotFoundError: No module named requests\nDatabaseBusyError: RolePermissionMissing", None, "", "", ""},
	{"coloured", "\x1b[31mError: EACCES: permission denied, open '/home/u/notes/a.md'\x1b[0m", Likely, "/home/u/notes/a.md", "read",
		`--read ~/notes/a.md`},
	{"escaped line breaks", `{"error":"boom\nError: EACCES: permission denied, open '/home/u/notes/a.md'\n    at x"}`, Likely, "/home/u/notes/a.md", "read",
		`--read ~/notes/a.md`},
}

// TestDiagnoseText lists failure texts of real runtimes with the expected diagnosis under
// the fixture's profile.
func TestDiagnoseText(t *testing.T) {
	for _, tt := range slices.Concat(pathTexts, hostTexts, nameTexts, otherTexts) {
		t.Run(tt.name, func(t *testing.T) {
			d := Diagnose(evidence(tt.text))
			if d.Attribution != tt.want {
				t.Fatalf("attribution %q, want %q\n%s", d.Attribution, tt.want, d.Text())
			}
			if tt.target != "" {
				if len(d.Hints) == 0 || d.Hints[0].Target != tt.target || d.Hints[0].Missing != tt.missing {
					t.Fatalf("hints %+v, want first %s %s", d.Hints, tt.missing, tt.target)
				}
			} else if len(d.Hints) != 0 {
				t.Fatalf("blames %+v", d.Hints)
			}
			if got := strings.Join(d.Words, " "); got != tt.grant {
				t.Fatalf("grant\n got %s\nwant %s", got, tt.grant)
			}
		})
	}
}

func TestDiagnoseWithoutKnowledge(t *testing.T) {
	ev := evidence(`Error: EACCES: permission denied, open '/home/u/notes/a.md'`)
	ev.Profile = nil
	if d := Diagnose(ev); d.Attribution != Possible || len(d.Words) > 0 {
		t.Errorf("without a profile: %s", d.Text())
	}
	ev = evidence(`Error: ENOENT: no such file or directory, open '/home/u/notes/a.md'`)
	ev.Exists = nil
	if d := Diagnose(ev); d.Attribution != None || d.Cause != "" {
		t.Errorf("the host could not be asked, and yet: %s", d.Text())
	}
}

// TestQuietCall checks that a successful call is not described as failed, even if stderr
// holds errors.
func TestQuietCall(t *testing.T) {
	ev := evidence("")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "telemetry.x.com:443"}}
	d := Diagnose(ev)
	if strings.Contains(d.What, "failed") || len(d.Hints) != 1 || d.Attribution != Certain {
		t.Errorf("%s", d.Text())
	}
}

// TestDenialsComeBeforeText lists denials beside texts that name something else.
func TestDenialsComeBeforeText(t *testing.T) {
	ev := evidence("TypeError: fetch failed")
	ev.Stderr = []string{"PermissionError: [Errno 13] Permission denied: '/data/notes/x.md'"}
	ev.Denials = []policy.Denial{
		{Axis: policy.AxisFs, Operation: "write", Target: "/home/u/notes/a.md", Program: "/usr/bin/node", Count: 3},
		{Axis: policy.AxisNet, Operation: "connect", Target: "169.254.169.254:80", Count: 1},
		{Axis: policy.AxisProcess, Operation: "ptrace", Target: "pid 1", Count: 1},
	}
	targets := func(d Diagnosis) string {
		var all []string
		for _, h := range d.Hints {
			all = append(all, string(h.Attribution)+" "+h.Target)
		}
		return strings.Join(all, ", ")
	}
	d := Diagnose(ev)
	if got := targets(d); got != "certain /home/u/notes/a.md, certain 169.254.169.254:80, likely /data/notes/x.md, possible pid 1" {
		t.Errorf("the first fact first, old output after it, and last what no line grants and no words fit: %s", got)
	}
	if len(d.Hints[3].Words) != 0 || strings.Contains(strings.Join(d.Words, "\n"), "169.254") {
		t.Errorf("the metadata service is granted in passing:\n%s", d.Text())
	}
	ev.Text, ev.Stderr = ev.Stderr[0], nil
	if got := targets(Diagnose(ev)); got != "certain /home/u/notes/a.md, certain pid 1, likely /data/notes/x.md, possible 169.254.169.254:80" {
		t.Errorf("the record outranks the text, but for a host where that speaks of files: %s", got)
	}
	if got := strings.Join(Diagnose(ev).Words, " "); got != `--write ~/notes/a.md --read /data/notes/x.md` {
		t.Errorf("the record brings the lines, and the text adds: %s", got)
	}
	ev.Text = "EACCES: permission denied, open '/home/u/notes/a.md'"
	d = Diagnose(ev)
	if h := d.Hints[0]; len(d.Hints) != 3 || h.Target != "/home/u/notes/a.md" || h.Missing != "write" || d.Attribution != Certain {
		t.Errorf("a fact that the text names, and that it was a write: %s", targets(d))
	}
	if got := strings.Join(d.Words, " "); got != `--write ~/notes/a.md` {
		t.Errorf("more than the failure is about: %s", got)
	}
}

// TestSocketInTheNameOfAHost covers curl --unix-socket, which names the host of the URL
// without looking it up. A host that was looked up keeps its line.
func TestSocketInTheNameOfAHost(t *testing.T) {
	socket := policy.Denial{Axis: policy.AxisIPC, Operation: "connect", Target: "/run/docker.sock", Count: 1}
	asked := policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Count: 1}
	for _, tt := range []struct {
		denials []policy.Denial
		host    bool
	}{{nil, true}, {[]policy.Denial{socket}, false}, {[]policy.Denial{socket, asked}, true}} {
		ev := evidence("curl: (7) Failed to connect to db.example port 80 after 0 ms: Couldn't connect to server")
		ev.Profile = fixture(func(p *policy.Profile) { p.Net = nil })
		ev.Denials = tt.denials
		if d := Diagnose(ev); strings.Contains(strings.Join(d.Words, "\n"), "db.example") != tt.host {
			t.Errorf("%v: %q", tt.denials, d.Words)
		} else if tt.denials != nil && !strings.Contains(d.Hints[0].Warning, "is a socket of the host") {
			t.Errorf("a socket of the host is proposed without a word: %q", d.Hints[0].Fix)
		}
	}
}

// TestAnalyzeBeforeRedacting checks that a secret in the middle of a path neither changes
// the analyzed path nor is shown.
func TestAnalyzeBeforeRedacting(t *testing.T) {
	ev := evidence("EACCES: permission denied, open '/var/lib/postgres/x'")
	ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true})
	ev.Exists = host{"/var/lib/postgres/x": true}.exists
	d := Diagnose(ev)
	if d.Attribution != Likely || d.Hints[0].Missing != "read" || strings.Contains(told(d), "postgres") || len(d.Words) > 0 || !strings.Contains(advised(d), "the value of a secret variable") {
		t.Errorf("%s", d.Text())
	}
	ev.Profile.Env = append(ev.Profile.Env[:len(ev.Profile.Env)-1], policy.Variable{Name: "DATA_DIR", Value: "/data/notes", Secret: true})
	ev.Text, ev.Exists = "EACCES: permission denied, open '/data/notes/x.md'", someHost.exists
	if d := Diagnose(ev); strings.Join(d.Words, " ") != `--read /data/notes/x.md` {
		t.Errorf("%s", d.Text())
	}
	// The analyzer reads the unredacted stderr.
	tail := NewTail(NewRedactor([]policy.Variable{{Name: "DATABASE", Value: "postgres", Secret: true}}))
	tail.Write([]byte("open '/var/lib/postgres/x'\nlast"))
	if got := tail.RawLines(-1); !slices.Equal(got, []string{"open '/var/lib/postgres/x'", "last"}) {
		t.Errorf("heard %q", got)
	}
	ev.Profile.Env[len(ev.Profile.Env)-1] = policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true}
	ev.Stage, ev.Text, ev.Exists = StageStartup, "", host{"/var/lib/postgres/x": true}.exists
	ev.Exit = &Exit{Code: 1}
	ev.RawStderr, ev.Stderr = []string{"EACCES: permission denied, open '/var/lib/postgres/x'"}, []string{"EACCES: permission denied, open '/var/lib/[redacted DB_USER]/x'"}
	if d := Diagnose(ev); d.Attribution != Likely || strings.Contains(string(d.ErrorFrame([]byte("1")))+d.Text(), "postgres") {
		t.Errorf("%s", d.Text())
	}
}

// TestCauseElsewhere covers texts whose cause is not the path that they name, or is not
// the policy.
func TestCauseElsewhere(t *testing.T) {
	const (
		list     = "Access denied - path outside allowed directories: /home/u/notes/a.md not in /home/u/work"
		around   = "fatal: not a git repository (or any parent up to mount point /home/u/notes)\nStopping at filesystem boundary (GIT_DISCOVERY_ACROSS_FILESYSTEM not set)."
		ofNotes  = `--read ~/notes`
		ofSocket = "dial unix /run/absent.sock: connect: permission denied"
	)
	repository := func(ev *Evidence) {
		ev.Exists = func(path string) bool { return path == "/home/u/notes/.git" || someHost.exists(path) }
	}
	for _, tt := range []struct {
		name, text string
		change     func(*Evidence)
		want       Attribution
		grant      string
	}{
		{"a root of the client's that is not granted", list, func(ev *Evidence) { ev.Roots = []string{"/home/u/notes"} }, Likely, ofNotes},
		{"one that is, and it refuses all the same", list, func(ev *Evidence) {
			ev.Roots = []string{"/home/u/notes"}
			ev.Profile.Entries = append(ev.Profile.Entries[:1:1], append([]policy.Entry{{Path: "/home/u/notes", Rights: policy.Read}}, ev.Profile.Entries[1:]...)...)
		}, None, ""},
		{"what lies in no root", list, func(ev *Evidence) { ev.Roots = []string{"/home/u/work"} }, None, ""},
		{"git, about another directory", around, repository, Likely, ofNotes},
		{"git, and there is none", around, nil, None, ""},
		{"a socket that is not there", ofSocket, nil, None, ""},
		{"a path of another machine", "Error: EACCES: permission denied, open '/projects/42/config.yml'", nil, None, ""},
		{"a new file of this one", "Error: EACCES: permission denied, open '/data/notes/new.md'", nil, Likely, `--write /data/notes`},
		{"a directory that the host does not let its user look into", "ls: cannot open directory 'src': Permission denied", func(ev *Evidence) {
			for i, e := range ev.Profile.Entries {
				if e.Path == "/home/u/work/src" {
					ev.Profile.Entries[i] = policy.Entry{Path: e.Path, Origin: policy.OriginSensitive, Rule: policy.UnsearchableRule}
				}
			}
		}, None, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); d.Attribution != tt.want || got != tt.grant {
				t.Errorf("got %s, %s\nwant %s, %s\n%s", d.Attribution, got, tt.want, tt.grant, d.Text())
			}
		})
	}
}
