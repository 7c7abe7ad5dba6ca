package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// refusals returns denials of files, each given as "operation path", in the order of time.
func refusals(all ...string) (denials []policy.Denial) {
	for _, each := range all {
		operation, path, _ := strings.Cut(each, " ")
		denials = append(denials, policy.Denial{Axis: policy.AxisFs, Operation: operation, Target: path, Program: "/usr/bin/dash"})
	}
	return denials
}

func refusedHosts(all ...string) (denials []policy.Denial) {
	for _, host := range all {
		denials = append(denials, policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Target: host})
	}
	return denials
}

// TestRecordFirst: what the jail recorded in this call is the cause: what the words name, else the
// first; nothing of it where the words have another cause, or where it happens also without a failure.
func TestRecordFirst(t *testing.T) {
	background := func(d []policy.Denial) []policy.Denial {
		for i := range d {
			d[i].Background = true
		}
		return d
	}
	ended := func(ev *Evidence) {
		ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1}
		ev.Stderr, ev.Text = strings.Split(ev.Text, "\n"), ""
	}
	for _, tt := range []struct {
		name, text string
		denials    []policy.Denial
		alter      func(*Evidence)
		sure       Attribution
		targets    string // of all hints
	}{
		{"the first of several", "it failed", refusals("open /home/u/notes/a.md", "open /data/notes/x.md"), nil, Certain, "/home/u/notes/a.md"},
		{"the last before the end", "it failed", refusals("open /home/u/notes/a.md", "open /data/notes/x.md"), ended, Certain, "/data/notes/x.md"},
		{"what the words name, in any order", "cannot load x.md", refusals("open /home/u/notes/a.md", "open /data/notes/x.md"), nil, Certain, "/data/notes/x.md"},
		{"the record before the words", "EACCES: permission denied, open '/home/u/notes/a.md'", refusals("write /home/u/notes/a.md"), nil, Certain, "/home/u/notes/a.md"},
		{"another host beside a file", "EACCES: permission denied, open '/home/u/notes/a.md'", refusedHosts("updates.acme.test"), nil, Likely, "/home/u/notes/a.md"},
		{"another file beside a host", "getaddrinfo ENOTFOUND api.acme.test", refusals("open /home/u/notes/a.md"), nil, Likely, "api.acme.test"},
		{"a host for a connection", "fetch failed", refusedHosts("api.acme.test"), nil, Certain, "api.acme.test"},
		{"what happens always", "fetch failed", background(refusedHosts("telemetry.acme.test")), nil, None, ""},
		{"what happens always, and the words name it", "getaddrinfo ENOTFOUND telemetry.acme.test", background(refusedHosts("telemetry.acme.test")), nil, Certain, "telemetry.acme.test"},
		{"what browsers ask for", "page crashed", refusedHosts("update.googleapis.com"), nil, None, ""},
		{"what caches write", "it failed", refusals("write /home/u/x/__pycache__/a.pyc"), nil, None, ""},
		{"an answer of a service", "Request failed with status code 404", refusedHosts("telemetry.acme.test"), nil, None, ""},
		{"a wrong argument", "Error: id must be a number", refusedHosts("telemetry.acme.test"), nil, None, ""},
		{"a variable that is nowhere", "ACME_KEY environment variable is required", refusals("open /home/u/notes/a.md"), ended, None, ""},
		{"a call that succeeded", "", refusedHosts("api.acme.test"), nil, Certain, "api.acme.test"},
		{"what a program of the home needs besides", "it failed", []policy.Denial{{Axis: policy.AxisProcess, Operation: "exec", Target: "/home/u/.cargo/bin/cargo"}}, func(ev *Evidence) {
			ev.Exists = host{"/home/u/.cargo/bin/cargo": true, "/home/u/.rustup/settings.toml": true}.exists
		}, Certain, "/home/u/.cargo/bin/cargo /home/u/.rustup"},
	} {
		ev := evidence(tt.text)
		ev.Denials = tt.denials
		if tt.alter != nil {
			tt.alter(&ev)
		}
		d := Diagnose(ev)
		var targets []string
		for _, h := range d.Hints {
			targets = append(targets, h.Target)
		}
		if d.Attribution != tt.sure || strings.Join(targets, " ") != tt.targets {
			t.Errorf("%s: %s %q, want %s %q\n%s", tt.name, d.Attribution, targets, tt.sure, tt.targets, d.Text())
		}
	}
}

// TestDirectoryForCompanions: what is made beside another file needs its directory, and the grant
// repeats what a rule of the file gives.
func TestDirectoryForCompanions(t *testing.T) {
	ruled := func(path string, rights policy.Rights) func(*policy.Profile) {
		return func(p *policy.Profile) {
			kind := policy.KindFile
			if path == "/home/u/docs" {
				kind = policy.KindDir
			}
			p.Entries = append(p.Entries, policy.Entry{Path: path, Kind: kind, Rights: rights, Origin: policy.OriginRule})
		}
	}
	for _, tt := range []struct {
		name, text string
		change     func(*policy.Profile)
		denial     string
		words      string
	}{
		{"a new file", "it failed", nil, "create /home/u/docs/n", "--write ~/docs"},
		{"a file that is replaced", "it failed", nil, "create /home/u/docs/m.json.1234.tmp", "--write ~/docs"},
		{"a lock", "it failed", nil, "create /home/u/docs/m.json.lock", "--write ~/docs"},
		{"a journal of SQLite", "unable to open database file", ruled("/home/u/docs/app.db", policy.Read|policy.Write), "create /home/u/docs/app.db-journal", "--write ~/docs"},
		{"a database of SQLite", "attempt to write a readonly database (8)", ruled("/home/u/docs/app.db", policy.Read), "write /home/u/docs/app.db", "--write ~/docs"},
		{"a directory that may be read", "attempt to write a readonly database (8)", ruled("/home/u/docs", policy.Read), "write /home/u/docs/app.db", "--write ~/docs"},
		{"what is removed", "it failed", nil, "remove /home/u/docs/m.json", "--write ~/docs"},
		{"beside a file in the home", "it failed", nil, "create /home/u/m.json.1234.tmp", ""},
	} {
		ev := evidence(tt.text)
		ev.Profile = fixture(tt.change)
		ev.Exists = host{"/home/u/docs/app.db": true, "/home/u/docs/m.json": true, "/home/u/m.json": true}.exists
		ev.Denials = refusals(tt.denial)
		d := Diagnose(ev)
		if got := strings.Join(d.Words, " "); d.Attribution != Certain || !strings.HasPrefix(got+" ", tt.words+" ") || tt.words == "" && got != "" || slices.Contains(d.Words, "~") {
			t.Errorf("%s: %s %q, want %q\n%s", tt.name, d.Attribution, got, tt.words, d.Text())
		}
	}
}
