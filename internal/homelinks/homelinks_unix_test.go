//go:build unix

package homelinks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

var must = testkit.Must

// place is a state directory with the HOME of one server, and a home of the user.
type place struct{ state, home, user string }

func newPlace(t *testing.T, files ...string) place {
	t.Helper()
	user := testkit.Plant(t, files...)
	state := filepath.Join(t.TempDir(), "state")
	p := place{state, filepath.Join(state, "servers/s/home"), user}
	must(t, os.MkdirAll(p.home, 0o700))
	return p
}

// want returns the links of rules for some paths of the user.
func (p place) want(t *testing.T, paths ...string) (links []policy.HomeLink) {
	t.Helper()
	for _, at := range paths {
		l := policy.HomeLink{Path: at, Target: filepath.Join(p.user, at)}
		if info, err := hostfs.OwnerHost().Lstat(l.Target); err == nil {
			l.Dir, l.ID = info.Mode.IsDir(), info.ID
		}
		links = append(links, l)
	}
	return links
}

func (p place) link(t *testing.T, paths ...string) (told []string, release func()) {
	t.Helper()
	told, release, err := Home{StateDir: p.state, Server: "servers/s"}.Link(p.want(t, paths...))
	if err != nil {
		t.Errorf("%q: %v", paths, err)
	}
	return told, release
}

// once is a session that has ended.
func (p place) once(t *testing.T, paths ...string) []string {
	t.Helper()
	told, release := p.link(t, paths...)
	release()
	return told
}

// tree lists a HOME: a link as "path>" where it leads to the same path of the user, and otherwise with
// its target; a directory that is empty as "path/".
func (p place) tree(t *testing.T) string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(p.home, func(name string, e fs.DirEntry, err error) error {
		at, _ := filepath.Rel(p.home, name)
		switch {
		case err != nil:
			return err
		case e.Type() == fs.ModeSymlink:
			target, _ := os.Readlink(name)
			if target == filepath.Join(p.user, at) {
				target = ""
			}
			out = append(out, at+">"+target)
		case !e.IsDir():
			out = append(out, at)
		default:
			if in, _ := os.ReadDir(name); len(in) == 0 && at != "." {
				out = append(out, at+"/")
			}
		}
		return nil
	}))
	return strings.Join(out, " ")
}

// TestLink has what a server left in its HOME, what rules grant, and what the HOME holds then.
func TestLink(t *testing.T) {
	files := []string{".thing/keys.json", ".thing/sub/x", ".thing/own", "doc"}
	for _, c := range []struct {
		name   string
		server func(home string)
		rules  []string
		want   string
		told   string
	}{
		{"nothing there", nil, []string{".thing/keys.json", "doc"}, ".thing/keys.json> doc>", ""},
		{"a directory, and a file in it", nil, []string{".thing/keys.json", ".thing"}, ".thing>", ""},
		{"a missing directory that the start makes", nil, []string{"new"}, "new>", ""},
		{"empty directories give way", func(h string) { os.MkdirAll(h+"/.thing/a/b", 0o700); os.Mkdir(h+"/doc", 0o700) }, []string{".thing", "doc"}, ".thing> doc>", ""},
		{"its own files win", func(h string) {
			os.MkdirAll(h+"/.thing/sub", 0o700)
			os.WriteFile(h+"/.thing/own", nil, 0o600)
			os.WriteFile(h+"/.thing/other", nil, 0o600)
		}, []string{".thing"}, ".thing/keys.json> .thing/other .thing/own .thing/sub>", "its own files in ~/.thing"},
		{"a directory with files where a file is granted", func(h string) { os.MkdirAll(h+"/doc/in", 0o700); os.WriteFile(h+"/doc/in/f", nil, 0o600) }, []string{"doc"}, "doc/in/f", "its own ~/doc"},
		{"its own file", func(h string) { os.WriteFile(h+"/doc", nil, 0o600) }, []string{"doc"}, "doc", "its own ~/doc"},
		{"its own file where a directory is granted", func(h string) { os.WriteFile(h+"/.thing", nil, 0o600) }, []string{".thing"}, ".thing", "its own ~/.thing, so yours"},
		{"beside its own files, an empty directory gives way", func(h string) {
			os.MkdirAll(h+"/.thing/sub/empty", 0o700)
			os.WriteFile(h+"/.thing/other", nil, 0o600)
		}, []string{".thing"}, ".thing/keys.json> .thing/other .thing/own> .thing/sub>", "its own files in ~/.thing"},
		{"a file on the way", func(h string) { os.WriteFile(h+"/.thing", nil, 0o600) }, []string{".thing/keys.json"}, ".thing", "its own ~/.thing, so your ~/.thing/keys.json"},
		{"a fifo", func(h string) { syscall.Mkfifo(h+"/doc", 0o600); syscall.Mkfifo(h+"/.thing", 0o600) }, []string{"doc", ".thing/keys.json"}, ".thing doc", "its own ~/doc"},
		{"a link out of the HOME, on the way", func(h string) { os.Symlink("../elsewhere", h+"/.thing") }, []string{".thing/keys.json"}, ".thing>../elsewhere", "its own ~/.thing"},
		{"a link inside the HOME, on the way", func(h string) { os.Mkdir(h+"/a", 0o700); os.Symlink("a", h+"/.thing") }, []string{".thing/keys.json"}, ".thing>a a/", "its own ~/.thing"},
		{"a link at the place", func(h string) { os.Symlink("/etc/passwd", h+"/doc") }, []string{"doc"}, "doc>/etc/passwd", "its own ~/doc"},
		{"a deep tree", func(h string) { os.MkdirAll(h+"/doc/"+strings.Repeat("d/", 2*maxDepth), 0o700) }, []string{"doc"}, "doc/" + strings.Repeat("d/", 2*maxDepth), "its own ~/doc"},
	} {
		p := newPlace(t, files...)
		outside := filepath.Join(p.state, "servers/s/elsewhere")
		must(t, os.Mkdir(outside, 0o700))
		if c.server != nil {
			c.server(p.home)
		}
		told := strings.Join(p.once(t, c.rules...), "\n")
		if got := p.tree(t); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if !strings.Contains(told, c.told) || (told == "") != (c.told == "") {
			t.Errorf("%s: told %q, want %q", c.name, told, c.told)
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: the link was followed: %v", c.name, left)
		}
		// The second start finds the same, and says nothing again.
		if told := p.once(t, c.rules...); told != nil || p.tree(t) != c.want {
			t.Errorf("%s, again: %q, %s", c.name, told, p.tree(t))
		}
	}
}

// TestWide tests that a tree without files does not give way if it is too large to be read.
func TestWide(t *testing.T) {
	for _, n := range []int{maxTree - 1, maxTree + 1} {
		p := newPlace(t, "d/x")
		for i := range n {
			must(t, os.MkdirAll(fmt.Sprintf("%s/d/%d", p.home, i), 0o700))
		}
		told := p.once(t, "d")
		info, err := os.Lstat(p.home + "/d")
		must(t, err)
		if gave := info.Mode().Type() == fs.ModeSymlink; gave != (n < maxTree) || gave != (told == nil) {
			t.Errorf("%d: %v %q", n, gave, told)
		}
	}
}

// TestStale tests what happens to links whose rule is gone.
func TestStale(t *testing.T) {
	files := []string{".thing/keys.json", ".thing/more", "doc"}
	for _, c := range []struct {
		name          string
		before, after []string
		server        func(p place)
		want          string
	}{
		{"gone, with the directories that were made", []string{".thing/keys.json", "doc"}, nil, nil, ""},
		{"one of two", []string{".thing/keys.json", "doc"}, []string{"doc"}, nil, "doc>"},
		{"a directory becomes a file", []string{".thing"}, []string{".thing/more"}, nil, ".thing/more>"},
		{"a file becomes a directory", []string{".thing/more"}, []string{".thing"}, nil, ".thing>"},
		{"the server has removed it", []string{"doc"}, []string{"doc"}, func(p place) { os.Remove(p.home + "/doc") }, "doc>"},
		{"the server's link stays", []string{"doc"}, nil, func(p place) { os.Remove(p.home + "/doc"); os.Symlink("other", p.home+"/doc") }, "doc>other"},
		{"the server's file stays", []string{"doc"}, nil, func(p place) { os.Remove(p.home + "/doc"); os.WriteFile(p.home+"/doc", nil, 0o600) }, "doc"},
		{"and its file in a directory that was made", []string{".thing/more"}, nil, func(p place) { os.WriteFile(p.home+"/.thing/f", nil, 0o600) }, ".thing/f"},
		{"its file in place of a directory that was made", []string{".thing/more"}, nil, func(p place) { os.RemoveAll(p.home + "/.thing"); os.WriteFile(p.home+"/.thing", nil, 0o600) }, ".thing"},
		{"the server has removed the directory that was made", []string{".thing/more"}, nil, func(p place) { os.RemoveAll(p.home + "/.thing") }, ""},
		{"its files are gone", []string{".thing"}, []string{".thing"}, func(p place) {
			os.Remove(p.home + "/.thing")
			os.Mkdir(p.home+"/.thing", 0o700)
			os.WriteFile(p.home+"/.thing/f", nil, 0o600)
			p.once(t, ".thing")
			os.Remove(p.home + "/.thing/f")
		}, ".thing>"},
		{"an entry of the user is gone", []string{".thing"}, []string{".thing"}, func(p place) {
			os.Remove(p.home + "/.thing")
			os.Mkdir(p.home+"/.thing", 0o700)
			os.WriteFile(p.home+"/.thing/f", nil, 0o600)
			p.once(t, ".thing")
			os.Remove(p.user + "/.thing/more")
		}, ".thing/f .thing/keys.json>"},
	} {
		p := newPlace(t, files...)
		p.once(t, c.before...)
		if c.server != nil {
			c.server(p)
		}
		p.once(t, c.after...)
		if got := p.tree(t); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// The path of a rule leads elsewhere than before.
	p := newPlace(t, files...)
	p.once(t, "doc")
	wanted := p.want(t, "doc")
	wanted[0].Target += "2"
	told, release, err := Home{StateDir: p.state, Server: "servers/s"}.Link(wanted)
	must(t, err)
	release()
	if target, _ := os.Readlink(p.home + "/doc"); target != wanted[0].Target || told != nil {
		t.Errorf("another target: %q, %q", target, told)
	}
	// A link that mcp-jail has not listed stays, also if its target is that of a listed one.
	p = newPlace(t, files...)
	must(t, os.Symlink(p.user+"/doc", p.home+"/doc"))
	p.once(t)
	if got := p.tree(t); got != "doc>" {
		t.Errorf("not of the list: %q", got)
	}
}

// TestTwoSessions tests that a start takes no link from a session that runs, and the one after it does.
func TestTwoSessions(t *testing.T) {
	p := newPlace(t, "a", "b", "c", "d/x", "sub/f")
	_, release := p.link(t, "a", "d")
	p.once(t, "b")
	if got := p.tree(t); got != "a> b> d>" {
		t.Errorf("beside a session: %q", got)
	}
	p.once(t, "d/x") // through the link of the session
	if got := p.tree(t); got != "a> b> d>" {
		t.Errorf("below a link of a session: %q", got)
	}
	must(t, os.Mkdir(p.home+"/c", 0o700)) // the session may be about to write there
	if told := p.once(t, "c"); p.tree(t) != "a> b> c/ d>" || told == nil {
		t.Errorf("an empty directory of a session: %q, %q", p.tree(t), told)
	}
	must(t, os.Remove(p.home+"/c"))
	p.once(t, "sub/f")
	must(t, os.Remove(p.home+"/sub/f"))
	p.once(t)
	if got := p.tree(t); got != "a> b> d> sub/" {
		t.Errorf("a directory that was made, beside a session: %q", got)
	}
	release()
	p.once(t, "b")
	if got := p.tree(t); got != "b>" {
		t.Errorf("after it: %q", got)
	}
	// Many at once, with different rules: each finds its own as long as it runs.
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			name := []string{"a", "b", "d"}[i%3]
			_, release := p.link(t, name)
			defer release()
			if target, err := os.Readlink(filepath.Join(p.home, name)); err != nil || target != filepath.Join(p.user, name) {
				t.Errorf("%s: %q, %v", name, target, err)
			}
		})
	}
	all.Wait()
	p.once(t)
	if got := p.tree(t); got != "" {
		t.Errorf("after all: %q", got)
	}
}

// TestReplaced tests that the names of another directory than the granted one do not get into HOME.
func TestReplaced(t *testing.T) {
	p := newPlace(t, "d/x", "secret/names")
	must(t, os.Mkdir(p.home+"/d", 0o700))
	testkit.WriteFile(t, p.home+"/d/own", "")
	wanted := p.want(t, "d")
	must(t, os.Rename(p.user+"/d", p.user+"/away"))
	must(t, os.Symlink("secret", p.user+"/d"))
	if _, _, err := (Home{StateDir: p.state, Server: "servers/s"}).Link(wanted); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Error(err)
	}
	if got := p.tree(t); got != "d/own" {
		t.Error(got)
	}
}

// TestNoList tests that a server without such rules gets neither a list nor a lock.
func TestNoList(t *testing.T) {
	p := newPlace(t)
	p.once(t)
	names, err := os.ReadDir(filepath.Dir(p.home))
	must(t, err)
	if len(names) != 1 || !slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() == "home" }) {
		t.Error(names)
	}
}
