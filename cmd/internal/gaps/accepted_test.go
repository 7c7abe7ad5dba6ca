package gaps

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
)

// TestAccepted: a waiver in a file of a project counts for the entry that the user was asked about, as
// it was, in that file.
func TestAccepted(t *testing.T) {
	const entry = `"%": {"command": "mcp-jail", "args": ["run", "--waive", "fs", "--", "cat"], "env": {"A": "1"}}`
	one, two := strings.Replace(entry, "%", "one", 1), strings.Replace(entry, "%", "two", 1)
	for name, c := range map[string]struct {
		before, now string // the entries when they were accepted, and later
		asked       []string
		forget      bool // "two" is asked about after the change
		want        []string
	}{
		"as it was":                       {one + "," + two, one + "," + two, []string{"one"}, false, []string{"one"}},
		"in another order, beside others": {one + "," + two, two + "," + one, []string{"one"}, false, []string{"one"}},
		"not asked about":                 {one, one, nil, false, nil},
		"another program":                 {one, strings.Replace(one, "cat", "sh", 1), []string{"one"}, false, nil},
		"one more waiver":                 {one, strings.Replace(one, `"--waive"`, `"--waive", "net", "--waive"`, 1), []string{"one"}, false, nil},
		"another value of a variable":     {one, strings.Replace(one, `"1"`, `"2"`, 1), []string{"one"}, false, nil},
		"another directory":               {one, strings.Replace(one, `"env"`, `"cwd": "/tmp", "env"`, 1), []string{"one"}, false, nil},
		"a file of variables":             {one, strings.Replace(one, `"env"`, `"envFile": "/tmp/e", "env"`, 1), []string{"one"}, false, nil},
		"another entry of that kind":      {one, two, []string{"one"}, false, nil},
		"a second question":               {one + "," + two, one + "," + two, []string{"one"}, true, []string{"one", "two"}},
		"a second question, changed":      {one + "," + two, strings.Replace(one, "cat", "sh", 1) + "," + two, []string{"one"}, true, []string{"two"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newProject(t)
			w.accept(t, c.before, c.asked...)
			f := w.read(t, c.now)
			if c.forget {
				w.accept(t, c.now, "two")
			}
			UseAccepted(w.state, []*wrapping.File{f})
			if got := slices.Sorted(maps.Keys(f.Accepted)); !slices.EqualFunc(got, c.want, func(key, server string) bool { return strings.Contains(key, server) }) {
				t.Errorf("%q is accepted, want %q", got, c.want)
			}
			for _, e := range f.Entries {
				if got, want := AreAccepted(f, e), slices.Contains(c.want, e.Server); got != want {
					t.Errorf("the waivers of %s are accepted: %t", e.Server, got)
				}
			}
			// What is gone once is not accepted when it comes back.
			if c.forget {
				f = w.read(t, c.before)
				if UseAccepted(w.state, []*wrapping.File{f}); len(f.Accepted) != len(c.want) {
					t.Errorf("%v is accepted, as it was before", f.Accepted)
				}
			}
		})
	}
}

// TestAcceptedElsewhere: the record of one file says nothing about another, and a record that cannot be
// read accepts nothing.
func TestAcceptedElsewhere(t *testing.T) {
	const entry = `"one": {"command": "mcp-jail", "args": ["run", "--waive", "fs", "--", "cat"]}`
	w := newProject(t)
	w.accept(t, entry, "one")
	other := newProject(t)
	f := other.read(t, entry)
	records := filepath.Join(w.state, acceptedDir)
	for name, change := range map[string]func(record []byte) []byte{
		"of another file":   func(record []byte) []byte { return record },
		"that is not whole": func(record []byte) []byte { return record[:len(record)/2] },
	} {
		all, err := os.ReadDir(records)
		if err != nil || len(all) == 0 {
			t.Fatal(all, err)
		}
		record, err := os.ReadFile(filepath.Join(records, nameOf(w.read(t, entry).Real())))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(records, nameOf(f.Real())), change(record), 0o600); err != nil {
			t.Fatal(err)
		}
		if UseAccepted(w.state, []*wrapping.File{f}); len(f.Accepted) > 0 {
			t.Errorf("a record %s accepts %v", name, f.Accepted)
		}
	}
}

// project is a project with a file of servers, and the state directory of mcp-jail.
type project struct {
	host  clients.Host
	state string
}

func newProject(t *testing.T) project {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := project{clients.Host{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}, filepath.Join(dir, "state")}
	for _, d := range []string{w.host.Home, filepath.Join(w.host.Project, ".vscode"), w.state} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// read returns the file of the project with some entries.
func (w project) read(t *testing.T, entries string) *wrapping.File {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.host.Project, ".vscode", "mcp.json"), []byte(`{"servers": {`+entries+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := wrapping.Find(w.host, wrapping.Selection{Clients: []string{"vscode"}})
	if err != nil || len(files) != 1 || !files[0].IsProject() {
		t.Fatal(files, err)
	}
	return files[0]
}

func (w project) accept(t *testing.T, entries string, servers ...string) {
	t.Helper()
	f := w.read(t, entries)
	var asked []wrapping.Entry
	for _, e := range f.Entries {
		if slices.Contains(servers, e.Server) {
			asked = append(asked, e)
		}
	}
	if err := RecordAccepted(w.state, f, asked); err != nil {
		t.Fatal(err)
	}
}
