package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestCandidateOrder(t *testing.T) {
	ev := evidence("first: EACCES: permission denied, open '/data/notes/x.md'\nthen: EACCES: permission denied, open '/srv/models/m.bin'")
	ev.Stderr = []string{"EACCES: permission denied, open '/home/u/notes/a.md'"}
	d := Diagnose(ev)
	var got []string
	for _, h := range d.Hints {
		got = append(got, h.Target)
	}
	if s := strings.Join(got, " "); s != "/srv/models/m.bin /data/notes/x.md /home/u/notes/a.md" {
		t.Errorf("order %s", s)
	}
}

// TestEndOrder: a server that ended during a call is said to have ended of the latest refusal. A call
// that failed is said to have failed of the first, as later ones often come from cleaning up.
func TestEndOrder(t *testing.T) {
	ev := evidence("")
	ev.Denials = refusals("open /data/notes/x.md", "open /srv/models/m.bin")
	for want, exit := range map[string]*Exit{"/data/notes/x.md": nil, "/srv/models/m.bin": {Code: 1}} {
		ev.Exit = exit
		if d := Diagnose(ev); len(d.Hints) != 2 || d.Hints[0].Target != want || !strings.Contains(d.Cause, want) {
			t.Errorf("ended %t: %s, %+v", exit != nil, d.Cause, d.Hints)
		}
	}
	ev.Stderr = []string{"EACCES: permission denied, open '/data/notes/x.md'"}
	if d := Diagnose(ev); d.Hints[0].Target != "/data/notes/x.md" {
		t.Errorf("its last line names the first refusal: %s", d.Cause)
	}
}

// refusals returns denials of files, each given as "operation path".
func refusals(all ...string) (denials []policy.Denial) {
	for _, a := range all {
		op, target, _ := strings.Cut(a, " ")
		denials = append(denials, policy.Denial{Axis: policy.AxisFs, Operation: op, Target: target, Program: "/usr/bin/dash", Count: 1})
	}
	return denials
}

// readOnly removes the right to write the workspace.
func readOnly(p *policy.Profile) {
	for i := range p.Entries {
		p.Entries[i].Rights &^= policy.Write
	}
}

// besideHost is a host with companions of files.
var besideHost = host{
	"/home/u/docs/m.json": true, "/home/u/docs/app.db": true, "/home/u/docs/app.db-wal": true, "/home/u/notes/a.md": true, "/home/u/work/in.txt": true,
	"/usr/bin/dash": true, "/usr/bin/python3.11": true, "/home/u/srv/dist/index.js": true, "/home/u/work/.git/HEAD": true, "/bin/sh": true,
}

// TestRecordOutranksText lists texts of real programs and the denials of the same call
// with the lines that make the call succeed.
func TestRecordOutranksText(t *testing.T) {
	ruled := func(path string, rights policy.Rights) func(*policy.Profile) {
		return func(p *policy.Profile) {
			kind := policy.KindFile
			if !strings.Contains(path[strings.LastIndexByte(path, '/'):], ".") {
				kind = policy.KindDir
			}
			p.Entries = append(p.Entries, policy.Entry{Path: path, Kind: kind, Rights: rights, Origin: policy.OriginRule})
		}
	}
	for _, tt := range []struct {
		name, text string
		change     func(*policy.Profile)
		denials    []policy.Denial
		want       Attribution
		target     string
		grant      string
	}{
		{"dash, by its whole path", "/bin/sh: 1: cannot create g: Permission denied", readOnly, refusals("create /home/u/work/g"), Certain, "/home/u/work/g", "--write ."},
		{"a path at the beginning", "/home/u/notes/a.md: cannot be opened: permission denied", nil, nil, Likely, "/home/u/notes/a.md", "--read ~/notes/a.md"},
		{"a program at the beginning", "/usr/bin/tool: opening /home/u/notes/a.md: permission denied", nil, nil, Likely, "/home/u/notes/a.md", "--read ~/notes/a.md"},
		{"dash alone", "/bin/sh: 1: cannot create g: Permission denied", readOnly, nil, Likely, "/home/u/work/g", "--write ."},
		{"the record, where the text names another", "EACCES: permission denied, open '/usr/bin/dash'", nil, refusals("create /home/u/docs/n"), Certain, "/home/u/docs/n", "--write ~/docs"},
		{"the first one, and not its clean-up", "Error: ENOENT: no such file or directory, open '/home/u/docs/m.json.1234.tmp'", nil,
			refusals("create /home/u/docs/m.json.1234.tmp", "remove /home/u/docs/m.json.1234.tmp"), Certain, "/home/u/docs/m.json.1234.tmp", "--write ~/docs"},
		{"a clean-up of other names", "it failed", nil, refusals("create /home/u/docs/x", "remove /home/u/docs/x.lock"), Certain, "/home/u/docs/x", "--write ~/docs"},
		{"what is removed, and there", "rm: cannot remove '/home/u/docs/m.json'", nil, refusals("remove /home/u/docs/m.json"), Certain, "/home/u/docs/m.json", "--write ~/docs"},
		{"a journal", "Error: stepping, unable to open database file (14)", ruled("/home/u/docs/app.db", policy.Read|policy.Write), refusals("create /home/u/docs/app.db-journal"), Certain, "/home/u/docs/app.db-journal", "--write ~/docs"},
		{"a log that is there", "attempt to write a readonly database (8)", nil, refusals("write /home/u/docs/app.db-wal"), Certain, "/home/u/docs/app.db-wal", "--write ~/docs"},
		{"a database", "sqlite3.OperationalError: unable to open database file", nil, refusals("create /home/u/docs/new.db"), Certain, "/home/u/docs/new.db", "--write ~/docs"},
		{"a database that is there", "attempt to write a readonly database (8)", ruled("/home/u/docs/app.db", policy.Read), refusals("write /home/u/docs/app.db"), Certain, "/home/u/docs/app.db",
			"--write ~/docs --write ~/docs/app.db"},
		{"a file with a rule of its own", "it failed", ruled("/home/u/docs/m.json", policy.Read|policy.Write), refusals("create /home/u/docs/m.json.77.tmp"), Certain, "/home/u/docs/m.json.77.tmp", "--write ~/docs"},
		{"a file that may be read", "it failed", ruled("/home/u/docs/m.json", policy.Read), refusals("create /home/u/docs/.m.json.swp"), Certain, "/home/u/docs/.m.json.swp",
			"--write ~/docs --write ~/docs/m.json"},
		{"sed", "sed: couldn't open temporary file /home/u/docs/sedLtFr1S: Read-only file system", nil, refusals("create /home/u/docs/sedLtFr1S"), Certain, "/home/u/docs/sedLtFr1S", "--write ~/docs"},
		{"sed, reading what it makes", "sed: couldn't open temporary file /home/u/docs/sedLtFr1S: Permission denied", ruled("/home/u/docs", policy.Write), nil, Likely, "/home/u/docs/sedLtFr1S", "--write ~/docs"},
		{"a replaced file, with a rule that says less than its directory", "OSError: [Errno 16] Device or resource busy: 'x'", func(p *policy.Profile) {
			ruled("/home/u/docs", policy.Write)(p)
			ruled("/home/u/docs/m.json", policy.Read|policy.Write)(p)
		}, refusals("rename /home/u/docs/m.json"), Certain, "/home/u/docs/m.json", "--write ~/docs"},
		{"a lock that is a directory", "it failed", nil, refusals("mkdir /home/u/docs/m.json.lock"), Certain, "/home/u/docs/m.json.lock", "--write ~/docs"},
		{"a directory with a name for once", "it failed", nil, refusals("mkdir /home/u/docs/tmp_objdir-incoming-Ab12Cd"), Certain, "/home/u/docs/tmp_objdir-incoming-Ab12Cd", "--write ~/docs"},
		{"beside a file in the home", "it failed", nil, refusals("create /home/u/m.json.1234.tmp"), Certain, "/home/u/m.json.1234.tmp", ""},
		{"execute, where a rule of the user's had it", "it failed", ruled("/home/u/docs", policy.Read|policy.Execute), refusals("create /home/u/docs/x"), Certain, "/home/u/docs/x", "--write ~/docs --execute ~/docs"},
		{"execute, where only the runtime had it", "it failed", func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/srv", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline})
			p.Parts = append(p.Parts, policy.Part{Path: "/home/u/srv", Work: true}, policy.Part{Path: "/home/u/srv/dist/index.js"})
		}, refusals("create /home/u/srv/cache/x"), Certain, "/home/u/srv/cache/x", "--write ~/srv/cache/"},
		{"a host beside a file", "EACCES: permission denied, open '/home/u/notes/a.md'", nil, []policy.Denial{{Axis: policy.AxisNet, Operation: "resolve", Target: "updates.x.com"}}, Likely, "/home/u/notes/a.md", "--read ~/notes/a.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			ev.Exists, ev.Profile, ev.Denials = besideHost.exists, fixture(tt.change), tt.denials
			d := Diagnose(ev)
			if d.Attribution != tt.want || len(d.Hints) == 0 || d.Hints[0].Target != tt.target {
				t.Fatalf("want %s about %s:\n%s", tt.want, tt.target, d.Text())
			}
			if strings.Contains(told(d), "from removing") != strings.HasPrefix(tt.text, "rm: ") {
				t.Errorf("a clean-up is told of:\n%s", d.Text())
			}
			want := tt.grant
			if got := strings.Join(d.Words, " "); got != want {
				t.Errorf("grant\n got %s\nwant %s\n%s", got, want, d.Text())
			}
		})
	}
}
