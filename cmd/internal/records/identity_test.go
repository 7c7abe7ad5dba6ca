package records

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// notes is the server of the user's that others try to be.
const notes = "notes-4k7q2m9x3vt5"

var notesWords = []string{"npx", "-y", "notes-mcp", "--dir", "${HOME}/notes", "${A}-${B}.db"}

func saved(id string) ([]string, error) {
	if id == notes {
		return notesWords, nil
	}
	return nil, errors.New("no such file")
}

// TestOf tests which starts are one server. Rows with the same letter are, and no others.
func TestOf(t *testing.T) {
	words := []string{"npx", "-y", "notes-mcp", "--dir", "/home/me/notes", "1-2.db"}
	node := []string{"node", "server.js"}
	rows := []struct {
		who   string // "" is refused
		start Started
	}{
		{"id", Started{ID: notes, Words: words}},
		{"id", Started{ID: notes, Words: words, Dir: "/clone", Program: "/clone/npx"}},
		{"id", Started{ID: notes, Words: []string{"npx", "-y", "notes-mcp", "--dir", "/notes", "-.db"}}},
		{"", Started{ID: notes, Words: append(slices.Clone(words), "more")}},
		{"", Started{ID: notes, Words: words[:5]}},
		{"", Started{ID: notes, Words: slices.Replace(slices.Clone(words), 2, 3, "notes-mcp@1")}},
		{"", Started{ID: notes, Words: slices.Replace(slices.Clone(words), 4, 5, "/home/me/notes2")}},
		{"", Started{ID: notes, Words: slices.Replace(slices.Clone(words), 5, 6, "1+2.db")}},
		{"", Started{ID: notes, Words: node}},
		{"", Started{ID: "other-4k7q2m9x3vt5", Words: words}},
		{"", Started{ID: "notes", Words: words}},
		{"", Started{ID: "../notes-4k7q2m9x3vt5", Words: words}},
		{"without", Started{Words: words, Program: "/usr/bin/npx", Dir: "/work"}},
		{"version", Started{Words: slices.Replace(slices.Clone(words), 2, 3, "notes-mcp@1"), Program: "/usr/bin/npx", Dir: "/work"}},
		{"elsewhere", Started{Words: words, Program: "/usr/bin/npx", Dir: "/clone"}},
		{"its own npx", Started{Words: words, Program: "/work/npx", Dir: "/work"}},
		{"one word", Started{Words: []string{strings.Join(words, " ")}, Program: "/usr/bin/npx", Dir: "/work"}},
		{"node", Started{Words: node, Program: "/usr/bin/node", Dir: "/work"}},
		{"node in a clone", Started{Words: node, Program: "/usr/bin/node", Dir: "/clone"}},
		{"table", Started{Table: "notes", Words: words, Dir: "/work"}},
		{"table", Started{Table: "notes", Words: node, Dir: "/clone"}},
		{"a project's", Started{Table: "notes", Project: "/clone/.mcp-jail.toml"}},
		{"another project's", Started{Table: "notes", Project: "/work/.mcp-jail.toml"}},
	}
	who, of := map[string]string{}, map[string]string{}
	for _, r := range rows {
		key, err := IDOf(r.start, saved)
		switch {
		case r.who == "":
			if err == nil {
				t.Errorf("%+v is %s", r.start, key)
			}
			continue
		case err != nil:
			t.Errorf("%+v: %v", r.start, err)
			continue
		}
		if was, is := who[key]; is && was != r.who {
			t.Errorf("%s and %s are both %s", was, r.who, key)
		}
		if was, is := of[r.who]; is && was != key {
			t.Errorf("%s is %s and %s", r.who, was, key)
		}
		who[key], of[r.who] = r.who, key
		if want := r.who == "id"; IsID(string(key)) != want {
			t.Errorf("%s has the form of an id: %v", key, !want)
		}
	}
}

func TestNewID(t *testing.T) {
	for _, called := range []string{"notes", "", "My Server (old)", "é", strings.Repeat("long-", 30), "-x-"} {
		one, two := NewID(called), NewID(called)
		if one == two || !IsID(one) || !strings.HasPrefix(one, FileName(called)+"-") {
			t.Errorf("%q: %s, %s", called, one, two)
		}
	}
	for words, want := range testkit.Named[string](t, "identity.txt") {
		if got := Label(strings.Fields(words)); got != want {
			t.Errorf("%s: %s", words, got)
		}
	}
	if got := ShortKey("notes-0123456789abcdef0123456789abcdef"); got != "notes-01234567" {
		t.Error(got)
	}
}

// FuzzOf tests that nothing but the id with its words reaches the key of an id. The other facts of a start change nothing of that.
func FuzzOf(f *testing.F) {
	f.Add("", "npx\n-y\nnotes-mcp\n--dir\n/x/notes\na-b.db", "/usr/bin/npx", "/work", notes, "")
	f.Add(notes, "npx\n-y\nnotes-mcp\n--dir\n/x/notes\na-b.db", "", "", "", "")
	f.Add(notes, "npx\n-y\nevil\n--dir\n/x/notes\na-b.db", "", "", "", "")
	f.Add("notes", "notes", "", "", "notes-4k7q2m9x3vt", "5")
	f.Fuzz(func(t *testing.T, id, words, program, dir, table, project string) {
		given := strings.Split(words, "\n")
		key, err := IDOf(Started{ID: id, Words: given, Program: program, Dir: dir, Table: table, Project: project}, saved)
		isNotes := id == notes && matches(given)
		isTable := table == notes && project == "" && id == "" // of the user's: wrap never makes one
		if (err == nil && key == notes) != (isNotes || isTable) {
			t.Errorf("%q with id %q: %s, %v", given, id, key, err)
		}
	})
}

// matches says of the words of notes alone what SameWords says of any, in another way.
func matches(given []string) bool {
	if len(given) != 6 || !slices.Equal(given[:4], notesWords[:4]) {
		return false
	}
	return strings.HasSuffix(given[4], "/notes") && strings.Contains(strings.TrimSuffix(given[5], ".db"), "-") && strings.HasSuffix(given[5], ".db")
}

// TestRename: the directory of an id moves to another id, unless that has a directory already.
func TestRename(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	for name, c := range map[string]struct {
		before func(host hostfs.Host) error
		moved  bool
		err    string
	}{
		"free":              {nil, true, ""},
		"the id has a HOME": {func(host hostfs.Host) error { return os.MkdirAll(Path(host, id), 0o700) }, false, "has its own HOME already"},
	} {
		host := hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
		d, err := private.Make(host.StateDir, filepath.Join(ServersDir, "s"))
		if err == nil && c.before != nil {
			err = c.before(host)
		}
		testkit.Must(t, err)
		d.Close()
		err = Rename(host, "s", id)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(Path(host, "s")); (err != nil) != c.moved {
			t.Errorf("%s: moved: %t", name, err != nil)
		}
	}
	if err := Rename(hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}, "none", id); err != nil {
		t.Error(err)
	}
}
