package diagnostics

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func defaultProfile(p *policy.Profile) {
	p.Default, p.Net = true, nil
	p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return e.Path == "/home/u/work/src" })
}

// TestGrants shows the same failures under all kinds of configuration.
func TestGrants(t *testing.T) {
	const (
		read     = "EACCES: permission denied, open '/home/u/notes/a.md'"
		connect  = "connect ECONNREFUSED 127.0.0.1:5432"
		variable = "FOO_TOKEN environment variable is required"
		program  = "sh: 1: rg: not found"
	)
	for _, tt := range []struct {
		name   string
		text   string
		change func(*Evidence)
		grant  string
		fix    string // a part of it
	}{
		{"a tool of a stateless server", read, func(ev *Evidence) {
			ev.Stateless, ev.Profile.Tool = true, "search"
		}, `--read ~/notes/a.md`, "grant --read ~/notes/a.md"},
		{"discovery of a stateless server", read, func(ev *Evidence) {
			ev.Stateless, ev.Stage = true, StageList
		}, "", "stateful = true"},
		{"under the default policy", read, func(ev *Evidence) { defaultProfile(ev.Profile) },
			`--read ~/notes/a.md`, "grant --read"},
		{"host under the default policy", connect, func(ev *Evidence) { defaultProfile(ev.Profile) },
			`--net localhost:5432`, ""},
		{"on the command line, a directory that the program needs as well", "EROFS: read-only file system, open '/home/u/work/src/x'", func(ev *Evidence) {
			ev.FromCommandLine = true
			for i, e := range ev.Profile.Entries {
				if e.Path == "/home/u/work/src" {
					ev.Profile.Entries[i].Rights, ev.Profile.Entries[i].Added = e.Rights|policy.Execute, policy.Execute
				}
			}
		}, `--write ~/work/src`, ""},
		{"variable", variable, func(ev *Evidence) { defaultProfile(ev.Profile) }, `--env FOO_TOKEN`, ""},
		{"program", program, nil, `--execute /opt/tools/bin/rg`, "grant --execute /opt/tools/bin/rg"},
		{"program that commands do not list", "spawn git ENOENT", func(ev *Evidence) {
			ev.Profile.Programs = []string{"/usr/bin/node"}
		}, ``, ""},
		{"without a home", read, func(ev *Evidence) { ev.UserHome = "" },
			`--read /home/u/notes/a.md`, ""},
		{"odd name", `EACCES: permission denied, open '/home/u/"q"\b.txt'`, func(ev *Evidence) { ev.Exists = nil },
			`--read ~/"q"\b.txt`, ""},
		{"protected name", "EROFS: read-only file system, open '/home/u/work/.git/hooks/pre-commit'", func(ev *Evidence) {
			ev.Exists = func(string) bool { return true }
		}, "", "protected name"},
		{"sensitive path", "EACCES: permission denied, open '/home/u/.ssh/id_rsa'", nil, "", "a server that gets this can use it as you"},
		{"a file in the home itself", "EACCES: permission denied, unlink '/home/u/x.json'", nil,
			`--write ~/x.json`, "create ~/x.json first"},
		{"two at once, under the default policy", read + "\n" + connect, func(ev *Evidence) { defaultProfile(ev.Profile) },
			`--read ~/notes/a.md --net localhost:5432`, ""},
		{"a tilde that is no home", "EROFS: read-only file system, open '/home/u/work/~/x'", func(ev *Evidence) {
			ev.Exists = nil
			ev.Profile.Entries[1].Rights = policy.Read
		}, `--write ~/work/~/x`, ""},
		{"a sensitive path in passing", "EACCES: permission denied, open '/home/u/.ssh/id_rsa'\n" + read, nil,
			`--read ~/notes/a.md`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			if got := strings.Join(d.Words, " "); got != tt.grant {
				t.Errorf("grant\n got %s\nwant %s", got, tt.grant)
			}
			if !strings.Contains(advised(d), tt.fix) {
				t.Errorf("fix %q lacks %q", d.Fix, tt.fix)
			}
		})
	}
}
