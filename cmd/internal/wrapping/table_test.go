package wrapping

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// fixtures has the rows of TestWrapAndUnwrap: CLIENT/FILE is a file of a client before wrap, FILE.after the
// one that wrap makes of it, and FILE.unwrapped what unwrap makes of that, where it is not the first.
// SCOPE, or SCOPE-NAME, and the ending of a file select its place. Two words stand for what no file can
// know: the path of mcp-jail, and the end of an id.
const (
	fixtures     = "../../../clients/testdata"
	shownProgram = "/usr/local/bin/mcp-jail"
	shownID      = "0123456789ab"
)

// A row is a file of a client.
type row struct {
	client clients.Client
	place  clients.Place
	name   string // below fixtures
}

// rows returns the rows of the table. There is one for each client at least.
func rows(t *testing.T) (all []row) {
	t.Helper()
	for _, c := range clients.All() {
		names, err := filepath.Glob(filepath.Join(fixtures, c.Name, "*"))
		must(t, err)
		before := len(all)
		for _, name := range names {
			base, ext := filepath.Base(name), filepath.Ext(name)
			if strings.Count(base, ".") > 1 {
				continue // another column
			}
			scope, _, _ := strings.Cut(strings.TrimSuffix(base, ext), "-")
			at := slices.IndexFunc(c.Places, func(p clients.Place) bool { return string(p.Scope) == scope && strings.HasSuffix(p.Linux, ext) })
			if at < 0 {
				t.Fatalf("%s: %s has no such place", name, c.Name)
			}
			all = append(all, row{c, c.Places[at], c.Name + "/" + base})
		}
		if len(all) == before {
			t.Errorf("%s has no row", c.Name)
		}
	}
	return all
}

// column returns the name of the file in another column of the table.
func (r row) column(name string) string {
	ext := filepath.Ext(r.name)
	return filepath.Join("..", fixtures, strings.TrimSuffix(r.name, ext)+"."+name+ext)
}

// TestWrapAndUnwrap wraps and unwraps each file where its client keeps it, byte for byte. Each is also
// tried as programs of Windows write it: with a byte order mark, CRLF, and no end of the last line.
func TestWrapAndUnwrap(t *testing.T) {
	for _, r := range rows(t) {
		t.Run(r.name, func(t *testing.T) {
			before := testkit.ReadFile(t, filepath.Join(fixtures, r.name))
			wrapped, unwrapped := r.wrapAndUnwrap(t, before)
			testkit.Golden(t, r.column("after"), wrapped)
			if _, err := os.Stat(filepath.Join("testdata", r.column("unwrapped"))); err == nil || unwrapped != before {
				testkit.Golden(t, r.column("unwrapped"), unwrapped)
			}
			windows := func(text string) string {
				return "\ufeff" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\r\n")
			}
			if w, u := r.wrapAndUnwrap(t, windows(before)); w != windows(wrapped) || u != windows(unwrapped) {
				t.Errorf("of Windows, wrapped:\n%s\nunwrapped:\n%s", w, u)
			}
		})
	}
}

// wrapAndUnwrap returns the texts that a file becomes. Between them, each wrapped entry starts in the jail,
// and nothing is left to wrap.
func (r row) wrapAndUnwrap(t *testing.T, before string) (wrapped, unwrapped string) {
	t.Helper()
	h := newHost(t)
	program, state := Program{Path: ours(h)}, filepath.Join(h.Home, "state")
	write(t, program.Path, "")
	at, ok := r.place.Locate(h)
	if !ok {
		t.Fatalf("%s has no such place", r.client.Name)
	}
	path := cmp.Or(at.File, filepath.Join(at.Dir, strings.NewReplacer("**/", "", "*", "x").Replace(at.Pattern)))
	write(t, path, strings.ReplaceAll(before, shownProgram, program.Path))
	must(t, os.Chmod(path, 0o640))
	t.Setenv("PATH", filepath.Dir(program.Path)+":"+os.Getenv("PATH"))
	must(t, os.Chmod(program.Path, 0o755))
	find := func() *File { return only(t, h, Selection{Clients: []string{r.client.Name}, Files: []string{path}}) }
	save := func(c *Change) string {
		was := c.File.own.Data
		must(t, WriteFiles(configDir(h), []*Change{c}))
		backup, err := c.Write(state, time.Now())
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != 0o640 || testkit.ReadFile(t, backup) != string(was) {
			t.Errorf("the mode is %s, or the copy is not the file", info.Mode())
		}
		return testkit.ReadFile(t, path)
	}
	wrap := func() *Change {
		f := find()
		return f.Wrap(program, Selection{}, h, newIDs(h, f))
	}

	first := wrap()
	wrapped = save(first)
	for i, e := range find().Entries {
		if s := first.Servers[i]; s.Left == "" && e.file.Judge(e, program, h).Jailed == slices.ContainsFunc(e.Args, e.by.client.Runs) {
			t.Errorf("%s is wrapped, and judged: %s", e.Server, e.file.Judge(e, program, h).Why)
		}
	}
	if again := wrap(); len(again.Changed()) != 0 || again.Diff() != "" {
		t.Errorf("a second wrap changes it: %s", again.Diff())
	}
	f := find()
	unwrapped = save(f.Unwrap(Selection{}))
	words := []string{program.Path, shownProgram}
	for _, e := range f.Entries {
		if w, _ := clients.ParseWrapped(e.Argv()); w.ID != "" {
			words = append(words, w.ID[len(w.ID)-len(shownID):], shownID)
		}
	}
	shown := strings.NewReplacer(words...).Replace
	return shown(wrapped), shown(unwrapped)
}
