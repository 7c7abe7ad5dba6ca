package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A fixture is a file of a client: testdata/CLIENT/SCOPE.EXT, SCOPE.after.EXT with the same
// file when it is wrapped, and SCOPE.entries.txt, which -update writes.
type fixture struct {
	client  Client
	place   Place
	name    string // below testdata, without the ending
	ext     string
	before  string
	after   string
	entries []Entry // of before
	wrapped []Entry // of after
	raw     [2][]Item
}

func fixtures(t *testing.T) (all []fixture) {
	t.Helper()
	for _, c := range All() {
		files, err := filepath.Glob(filepath.Join("testdata", c.Name, "*.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			ext := filepath.Ext(file)
			base := strings.TrimSuffix(filepath.Base(file), ext)
			if ext == ".txt" || strings.HasSuffix(base, ".after") {
				continue
			}
			at := slices.IndexFunc(c.Places, func(p Place) bool { return string(p.Scope) == base })
			if at < 0 {
				t.Fatalf("%s: %s has no place for %s", file, c.Name, base)
			}
			f := fixture{client: c, place: c.Places[at], name: c.Name + "/" + base, ext: ext}
			f.before, f.entries, f.raw[0] = f.read(t, file)
			f.after, f.wrapped, f.raw[1] = f.read(t, filepath.Join("testdata", f.name+".after"+ext))
			all = append(all, f)
		}
		if len(files) == 0 {
			t.Errorf("%s has no fixture", c.Name)
		}
	}
	return all
}

func (f fixture) read(t *testing.T, file string) (string, []Entry, []Item) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	raw := items(t, f.place, file, src)
	for _, item := range raw {
		entries = append(entries, f.client.Entry(item))
	}
	return string(src), entries, raw
}

// TestEntries compares what is read from each fixture with what it means.
func TestEntries(t *testing.T) {
	for _, f := range fixtures(t) {
		var out strings.Builder
		for _, e := range f.entries {
			describe(&out, f.client, e)
		}
		testkit.Golden(t, f.name+".entries.txt", out.String())
	}
}

func describe(out *strings.Builder, c Client, e Entry) {
	fmt.Fprintf(out, "%q, line %d, at %q\n", e.Server, e.Line, e.Path)
	row := func(name string, value any) {
		if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			fmt.Fprintf(out, "    %-9s %v\n", name, value)
		}
	}
	quoted := func(words []string) string {
		if len(words) == 0 {
			return ""
		}
		return fmt.Sprintf("%q", words)
	}
	row("for", e.For)
	row("runs", quoted(e.Argv()))
	texts := e.Argv()
	for _, v := range e.Env {
		if v.Unset {
			row("env", v.Name+" removed")
		} else {
			row("env", fmt.Sprintf("%s=%q", v.Name, v.Value))
		}
		texts = append(texts, v.Value)
	}
	row("names", e.Names)
	row("env file", e.EnvFile)
	row("cwd", e.Cwd)
	row("url", e.URL)
	for _, text := range append(texts, e.EnvFile, e.Cwd) {
		for _, r := range c.References(text) {
			row("uses", fmt.Sprintf("%s: %s %q, default %q", r.Text, r.Kind, r.Name, r.Default))
		}
	}
	if e.Left != "" {
		row("left", fmt.Sprintf("it %s (%s)", e.Left, e.Detail))
	}
}

// wrapping is how the fixtures are wrapped.
func wrapping(e Entry) Wrapping {
	w := Wrapping{Program: "/usr/local/bin/mcp-jail"}
	for _, name := range e.EnvNames() {
		w.Flags = append(w.Flags, "--env", name)
	}
	return w
}

// TestWrap compares the entries that Wrap makes with those of the wrapped file, and what
// Unwrap makes of these with the original. An entry that is left is the same in both files.
func TestWrap(t *testing.T) {
	for _, f := range fixtures(t) {
		if len(f.entries) != len(f.wrapped) {
			t.Fatalf("%s: %d entries, and %d after", f.name, len(f.entries), len(f.wrapped))
		}
		for i, e := range f.entries {
			after := f.wrapped[i]
			edit, err := e.Wrap(wrapping(e))
			if (err == nil) != (e.Left == "") {
				t.Errorf("%s: %s: left %q, but %v", f.name, e.Server, e.Left, err)
			}
			if got := edit.Apply(e.Argv()); !slices.Equal(got, after.Argv()) {
				t.Errorf("%s: %s becomes %q, and the file has %q", f.name, e.Server, got, after.Argv())
			}
			if err != nil {
				if before, after := f.raw[0][i].Value, f.raw[1][i].Value; !reflect.DeepEqual(before, after) {
					t.Errorf("%s: %s is left, but became %v", f.name, e.Server, after)
				}
				continue
			}
			if after.Left != Jailed {
				t.Errorf("%s: %s is wrapped, but %q", f.name, e.Server, after.Left)
			}
			back, err := after.Unwrap()
			if got := back.Apply(after.Argv()); err != nil || !slices.Equal(got, e.Argv()) {
				t.Errorf("%s: %s: unwrapped %q, %v", f.name, e.Server, got, err)
			}
			if !slices.Equal(edit.Path, e.Path) || !slices.Equal(back.Path, after.Path) || !reflect.DeepEqual(edit.Shape, back.Shape) {
				t.Errorf("%s: %s: edits at %q and %q", f.name, e.Server, edit.Path, back.Path)
			}
			after.Line, after.Command, after.Args, after.Left = e.Line, e.Command, e.Args, e.Left
			if !reflect.DeepEqual(after, e) {
				t.Errorf("%s: %s: the files differ in more than the command:\n%+v\n%+v", f.name, e.Server, e, after)
			}
		}
	}
}
