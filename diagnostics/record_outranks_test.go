package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// refusals are denials of files, "operation path" each.
func refusals(all ...string) (denials []Denial) {
	for _, a := range all {
		op, target, _ := strings.Cut(a, " ")
		denials = append(denials, Denial{Axis: policy.AxisFs, Operation: op, Target: target, Program: "/usr/bin/dash", Count: 1})
	}
	return denials
}

// readOnly lets the server read its workspace.
func readOnly(p *policy.Profile) {
	for i := range p.Entries {
		p.Entries[i].Rights &^= policy.Write
	}
}

// besideHost has what is written beside other files.
var besideHost = host{
	"/home/u/docs/m.json": true, "/home/u/docs/app.db": true, "/home/u/docs/app.db-wal": true, "/home/u/notes/a.md": true, "/home/u/work/in.txt": true,
	"/usr/bin/dash": true, "/usr/bin/python3.11": true, "/home/u/srv/dist/index.js": true, "/home/u/work/.git/HEAD": true, "/bin/sh": true,
}

// TestRecordOutranks holds texts of real programs, with what the jail has on record
// of the same call, against the lines that make the call work.
func TestRecordOutranks(t *testing.T) {
	const rw, w = "; read = true; write = true", "; write = true"
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
		denials    []Denial
		want       Attribution
		target     string
		grant      string
	}{
		{"dash, by its whole path", "/bin/sh: 1: cannot create g: Permission denied", readOnly, refusals("create /home/u/work/g"), Certain, "/home/u/work/g", `path = "."` + rw},
		{"a path at the beginning", "/home/u/notes/a.md: cannot be opened: permission denied", nil, nil, Likely, "/home/u/notes/a.md", `path = "~/notes/a.md"; read = true`},
		{"a program at the beginning", "/usr/bin/tool: opening /home/u/notes/a.md: permission denied", nil, nil, Likely, "/home/u/notes/a.md", `path = "~/notes/a.md"; read = true`},
		{"dash alone", "/bin/sh: 1: cannot create g: Permission denied", readOnly, nil, Likely, "/home/u/work/g", `path = "."` + rw},
		{"the record, where the text names another", "EACCES: permission denied, open '/usr/bin/dash'", nil, refusals("create /home/u/docs/n"), Certain, "/home/u/docs/n", `path = "~/docs"` + w},
		{"the first one, and not its clean-up", "Error: ENOENT: no such file or directory, open '/home/u/docs/m.json.1234.tmp'", nil,
			refusals("create /home/u/docs/m.json.1234.tmp", "remove /home/u/docs/m.json.1234.tmp"), Certain, "/home/u/docs/m.json.1234.tmp", `path = "~/docs"` + w},
		{"a clean-up of other names", "it failed", nil, refusals("create /home/u/docs/x", "remove /home/u/docs/x.lock"), Certain, "/home/u/docs/x", `path = "~/docs"` + w},
		{"what is removed, and there", "rm: cannot remove '/home/u/docs/m.json'", nil, refusals("remove /home/u/docs/m.json"), Certain, "/home/u/docs/m.json", `path = "~/docs"` + w},
		{"a journal", "Error: stepping, unable to open database file (14)", ruled("/home/u/docs/app.db", policy.Read|policy.Write), refusals("create /home/u/docs/app.db-journal"), Certain, "/home/u/docs/app.db-journal", `path = "~/docs"` + rw},
		{"a log that is there", "attempt to write a readonly database (8)", nil, refusals("write /home/u/docs/app.db-wal"), Certain, "/home/u/docs/app.db-wal", `path = "~/docs"` + rw},
		{"a database", "sqlite3.OperationalError: unable to open database file", nil, refusals("create /home/u/docs/new.db"), Certain, "/home/u/docs/new.db", `path = "~/docs"` + rw},
		{"a database that is there", "attempt to write a readonly database (8)", ruled("/home/u/docs/app.db", policy.Read), refusals("write /home/u/docs/app.db"), Certain, "/home/u/docs/app.db",
			`path = "~/docs"` + rw + `; [[servers.github.access.fs]]; path = "~/docs/app.db"` + rw},
		{"a file with a rule of its own", "it failed", ruled("/home/u/docs/m.json", policy.Read|policy.Write), refusals("create /home/u/docs/m.json.77.tmp"), Certain, "/home/u/docs/m.json.77.tmp", `path = "~/docs"` + rw},
		{"a file that may be read", "it failed", ruled("/home/u/docs/m.json", policy.Read), refusals("create /home/u/docs/.m.json.swp"), Certain, "/home/u/docs/.m.json.swp",
			`path = "~/docs"` + rw + `; [[servers.github.access.fs]]; path = "~/docs/m.json"` + rw},
		{"sed", "sed: couldn't open temporary file /home/u/docs/sedLtFr1S: Read-only file system", nil, refusals("create /home/u/docs/sedLtFr1S"), Certain, "/home/u/docs/sedLtFr1S", `path = "~/docs"` + rw},
		{"sed, reading what it makes", "sed: couldn't open temporary file /home/u/docs/sedLtFr1S: Permission denied", ruled("/home/u/docs", policy.Write), nil, Likely, "/home/u/docs/sedLtFr1S", `path = "~/docs"` + rw},
		{"a replaced file, with a rule that says less than its directory", "OSError: [Errno 16] Device or resource busy: 'x'", func(p *policy.Profile) {
			ruled("/home/u/docs", policy.Write)(p)
			ruled("/home/u/docs/m.json", policy.Read|policy.Write)(p)
		}, refusals("rename /home/u/docs/m.json"), Certain, "/home/u/docs/m.json", `path = "~/docs"` + rw},
		{"a lock that is a directory", "it failed", nil, refusals("mkdir /home/u/docs/m.json.lock"), Certain, "/home/u/docs/m.json.lock", `path = "~/docs"` + w},
		{"beside a file in the home", "it failed", nil, refusals("create /home/u/m.json.1234.tmp"), Certain, "/home/u/m.json.1234.tmp", ""},
		{"execute, where a rule of the user's had it", "it failed", ruled("/home/u/docs", policy.Read|policy.Execute), refusals("create /home/u/docs/x"), Certain, "/home/u/docs/x", `path = "~/docs"; read = true; write = true; execute = true`},
		{"execute, where only the runtime had it", "it failed", func(p *policy.Profile) {
			p.Entries = append(p.Entries, policy.Entry{Path: "/home/u/srv", Kind: policy.KindDir, Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline})
			p.Parts = append(p.Parts, policy.Part{Path: "/home/u/srv", Work: true}, policy.Part{Path: "/home/u/srv/dist/index.js"})
		}, refusals("create /home/u/srv/cache/x"), Certain, "/home/u/srv/cache/x", `path = "~/srv/cache/"` + rw},
		{"a host beside a file", "EACCES: permission denied, open '/home/u/notes/a.md'", nil, []Denial{{Axis: policy.AxisNet, Operation: "resolve", Target: "updates.x.com"}}, Likely, "/home/u/notes/a.md", `path = "~/notes/a.md"; read = true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			ev.Exists, ev.Profile, ev.Denials = besideHost.exists, fixture(tt.change), tt.denials
			d := Diagnose(ev)
			if d.Attribution != tt.want || len(d.Hints) == 0 || d.Hints[0].Target != tt.target {
				t.Fatalf("want %s about %s:\n%s", tt.want, tt.target, d.Text())
			}
			if strings.Contains(d.Text(), "to remove") != strings.HasPrefix(tt.text, "rm: ") {
				t.Errorf("a clean-up is told of:\n%s", d.Text())
			}
			want := tt.grant
			if want != "" {
				want = "[[servers.github.access.fs]]; " + want
			}
			if got := strings.Join(d.Grant, "; "); got != want {
				t.Errorf("grant\n got %s\nwant %s\n%s", got, want, d.Text())
			}
		})
	}
}

// TestNotOurs: refusals that are the server's own, or another's, and of which nothing
// is said: the words are those of real programs.
func TestNotOurs(t *testing.T) {
	for _, text := range []string{
		"Access denied - path outside allowed directories: /home/u/notes/a.md not in /home/u/work",
		"Access denied - symlink target outside allowed directories: /home/u/.ssh/id_rsa not in /home/u/work",
		"Error: EACCES: permission denied, open '/home/u/work/out.txt'",
		"PermissionError: [Errno 13] Permission denied: '/home/u/work/out.txt'",
		"sh: 1: ./tool.sh: Permission denied", "bash: line 1: ./tool.sh: Permission denied", "Error: spawn /home/u/work/tool.sh EACCES", "PermissionError: [Errno 13] Permission denied: './tool.sh'",
		"cat: nofile: No such file or directory", "cat: /nowhere/at/all: No such file or directory", "EACCES: permission denied, scandir '/nowhere'",
		"sh: 1: nosuchprogram: not found", "Error: spawn nosuchprogram ENOENT",
		"HTTP 403 Forbidden", "Request failed with status code 403: Access denied", "AxiosError: Request failed with status code 401", "GitHub API error: 403 Forbidden: permission denied",
		"The requested URL returned error: 403", "fetch failed: 503 Service Unavailable", "AccessDenied: Access Denied (Service: Amazon S3; Status Code: 403)",
		"git@github.com: Permission denied (publickey).\r\nfatal: Could not read from remote repository.", "u@host: Permission denied (publickey,password).", "Permission denied, please try again.",
		"rpc error: code = PermissionDenied desc = caller does not have permission", "ERROR:  permission denied for table users", "ERROR 1045 (28000): Access denied for user 'u'@'localhost' (using password: YES)",
		"fatal: not a git repository (or any of the parent directories): .git", "getaddrinfo ENOTFOUND api.github.com", "Error: BAR_KEY environment variable is required", "Invalid arguments: query is required",
	} {
		ev := evidence(text)
		tool := "/home/u/work/tool.sh"
		ev.Exists = func(p string) bool { return p == tool || someHost.exists(p) }
		ev.Executable = func(p string) bool { return p != tool }
		if d := Diagnose(ev); !d.Silent() {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	// The controls: the same words about what the jail refuses.
	for _, text := range []string{
		"Error: EACCES: permission denied, open '/home/u/notes/a.md'", "cat: /home/u/notes/a.md: No such file or directory", "sh: 1: ./tool.sh: Permission denied", "Error: spawn rg ENOENT",
		"Permission denied", "fetch failed", "getaddrinfo ENOTFOUND api.x.com", "Error: FOO_TOKEN environment variable is required", "Parent directory does not exist: /home/u/notes",
	} {
		ev := evidence(text)
		tool := "/home/u/work/tool.sh"
		ev.Exists = func(p string) bool { return p == tool || someHost.exists(p) }
		if Diagnose(ev).Silent() {
			t.Errorf("nothing is said of %s", text)
		}
	}
}

// TestRoots: what a server with roots of its client's refuses is told, and never granted.
func TestRoots(t *testing.T) {
	for _, path := range []string{"/home/u/notes/a.md", "/home/u/.ssh/id_rsa", "/home/u/work/out.txt"} {
		ev := evidence("Access denied - path outside allowed directories: " + path + " not in /home/u/work/src")
		ev.Roots = []string{"/home/u/work/src"}
		d := Diagnose(ev)
		if d.Attribution != None || d.Silent() || len(d.Grant)+len(d.Hints) > 0 || !strings.Contains(d.Cause, `the client has given it "/home/u/work/src" as its roots`) {
			t.Errorf("%s", d.Text())
		}
		if block := d.resultText(); !strings.Contains(block, "The jail refused nothing during this call: the server itself refuses") || !strings.Contains(block, "open that directory in the client") {
			t.Errorf("%s", block)
		}
		ev.Roots = []string{"/home/u"}
		if d := Diagnose(ev); !d.Silent() {
			t.Errorf("it lies in the roots: %s", d.Text())
		}
	}
}

// TestTextGetsNoSecrets: what a server says gets it no line for a sensitive path, however
// it says it; a record of the jail does, with a warning.
func TestTextGetsNoSecrets(t *testing.T) {
	for _, text := range []string{
		"EACCES: permission denied, open '/home/u/.ssh/id_rsa'", "ENOENT: no such file or directory, open '/home/u/.aws/credentials'", "cat: /etc/shadow: Permission denied",
		"EACCES: permission denied, open '/home/u/work/.env'", "ENOENT: no such file or directory, open '/home/v/.ssh/id_rsa'", "EACCES: permission denied, scandir '/home/u/.ssh'",
	} {
		ev := evidence(text)
		ev.Exists = func(string) bool { return true }
		d := Diagnose(ev)
		if d.Attribution != Likely || len(d.Grant) > 0 || !strings.Contains(d.Fix, "sensitive path") {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	for _, text := range []string{"ls: cannot open directory '/home/u': Permission denied", "ls: cannot access '/root': No such file or directory", "EACCES: permission denied, scandir '/'"} {
		ev := evidence(text)
		ev.Exists = func(string) bool { return true }
		if d := Diagnose(ev); d.Attribution != Likely || len(d.Grant) > 0 || !strings.Contains(d.Fix, "whole home directory") {
			t.Errorf("%s\n%s", text, d.Text())
		}
	}
	ev := evidence("it failed")
	ev.Exists = func(string) bool { return true }
	ev.Denials = refusals("open /home/u/.aws/credentials")
	if d := Diagnose(ev); len(d.Grant) == 0 || !strings.Contains(d.Fix, "careful: ") {
		t.Errorf("%s", d.Text())
	}
}

// TestJudgeBeforeRedacting: the value of a variable in the middle of a path does not
// make another path of it, and is not shown either.
func TestJudgeBeforeRedacting(t *testing.T) {
	ev := evidence("EACCES: permission denied, open '/var/lib/postgres/x'")
	ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true})
	ev.Exists = host{"/var/lib/postgres/x": true}.exists
	d := Diagnose(ev)
	if d.Attribution != Likely || d.Hints[0].Missing != "read" || strings.Contains(d.Text(), "postgres") || len(d.Grant) > 0 || !strings.Contains(d.Fix, "the value of a granted variable") {
		t.Errorf("%s", d.Text())
	}
	ev.Profile.Env = append(ev.Profile.Env[:len(ev.Profile.Env)-1], policy.Variable{Name: "DATA_DIR", Value: "/data/notes", Secret: true})
	ev.Text, ev.Exists = "EACCES: permission denied, open '/data/notes/x.md'", someHost.exists
	if d := Diagnose(ev); strings.Join(d.Grant, "; ") != `[[servers.github.access.fs]]; path = "/data/notes/x.md"; read = true` {
		t.Errorf("%s", d.Text())
	}
	// Of stderr the judge hears what is not shown.
	tail := NewTail(redactorOf("postgres"))
	tail.Write([]byte("open '/var/lib/postgres/x'\nlast"))
	if got := tail.RawLines(-1); !slices.Equal(got, []string{"open '/var/lib/postgres/x'", "last"}) {
		t.Errorf("heard %q", got)
	}
	ev.Profile.Env[len(ev.Profile.Env)-1] = policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true}
	ev.Stage, ev.Text, ev.Exists = StageBoot, "", host{"/var/lib/postgres/x": true}.exists
	ev.Exit = &Exit{Code: 1}
	ev.RawStderr, ev.Stderr = []string{"EACCES: permission denied, open '/var/lib/postgres/x'"}, []string{"EACCES: permission denied, open '/var/lib/[redacted DB_USER]/x'"}
	if d := Diagnose(ev); d.Attribution != Likely || strings.Contains(string(d.ErrorFrame([]byte("1")))+d.Text(), "postgres") {
		t.Errorf("%s", d.Text())
	}
}
