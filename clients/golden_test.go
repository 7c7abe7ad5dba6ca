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

// A fixture is a file of a client: testdata/CLIENT/SCOPE.EXT or SCOPE-NAME.EXT, with what wrap makes of it in
// SCOPE.after.EXT, which a test of cmd/internal/wrapping writes, and with its entries in SCOPE.entries.txt.
// The file that its page shows is the last one.
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
		testkit.Must(t, err)
		for _, file := range files {
			ext := filepath.Ext(file)
			base := strings.TrimSuffix(filepath.Base(file), ext)
			if ext == ".txt" || strings.Contains(base, ".") {
				continue
			}
			scope, _, _ := strings.Cut(base, "-")
			at := slices.IndexFunc(c.Places, func(p Place) bool { return string(p.Scope) == scope && strings.HasSuffix(p.Linux, ext) })
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
	testkit.Must(t, err)
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

// TestAfter reads what wrap makes of each fixture: an entry is the
// same in both files, but for the words that start mcp-jail.
func TestAfter(t *testing.T) {
	for _, f := range fixtures(t) {
		if len(f.entries) != len(f.wrapped) {
			t.Fatalf("%s: %d entries, and %d after", f.name, len(f.entries), len(f.wrapped))
		}
		for i, e := range f.entries {
			after, want := f.wrapped[i], e.Argv()
			if reflect.DeepEqual(f.raw[0][i].Value, f.raw[1][i].Value) {
				continue // it is left
			}
			if was, ok := ParseWrapped(want); ok {
				want = was.Argv
			}
			w, ok := ParseWrapped(after.Argv())
			if !ok || w.Program != "/usr/local/bin/mcp-jail" && w.Program != "mcp-jail" || after.Left != Jailed || !slices.Equal(w.Argv, want) {
				t.Errorf("%s: %s becomes %q", f.name, e.Server, after.Argv())
			}
			after.Line, after.Command, after.Args, after.Left = e.Line, e.Command, e.Args, e.Left
			if !reflect.DeepEqual(after, e) {
				t.Errorf("%s: %s: the files differ in more than the command:\n%+v\n%+v", f.name, e.Server, e, after)
			}
		}
	}
}
