package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const digest = "00112233445566778899aabbccddeeff"

func id() ID { return ID{"npm", "@scope/name", "1.2.3", digest} }

// plant makes files below a directory.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testkit.Must(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// removeAll removes a store.
func removeAll(s Store) {
	if d, err := private.Open(filepath.Dir(s.Dir), "."); err == nil {
		defer d.Close()
		d.RemoveAll(filepath.Base(s.Dir))
	}
}

// installed returns a store with one tree, and the digest of its contents.
func installed(t *testing.T) (Store, string) {
	t.Helper()
	s := Store{filepath.Join(t.TempDir(), "store")}
	t.Cleanup(func() { removeAll(s) })
	stage := testkit.Get(s.Stage("name"))(t)
	tree := filepath.Join(stage.Dir, "work")
	plant(t, tree, map[string]string{"package.json": "{}", "node_modules/a/index.js": "a", "node_modules/b/lib/b.js": "b", "node_modules/.bin/x": "x"})
	testkit.Must(t, os.Chmod(filepath.Join(tree, "node_modules/.bin/x"), 0o755))
	testkit.Must(t, os.Symlink("../a/index.js", filepath.Join(tree, "node_modules/.bin/a")))
	contents := testkit.Get(stage.Commit(id(), tree))(t)
	testkit.Must(t, stage.Discard())
	return s, contents
}

func open(t *testing.T, s Store) *Tree {
	t.Helper()
	tree := testkit.Get(s.Open(id()))(t)
	t.Cleanup(func() { tree.Close() })
	return tree
}

// TestCheckFindsChanges tests that every change of a tree is found and named.
func TestCheckFindsChanges(t *testing.T) {
	write := func(name, text string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			os.Chmod(filepath.Dir(file), 0o755)
			os.Chmod(file, 0o644)
			testkit.Must(t, os.WriteFile(file, []byte(text), 0o644))
		}
	}
	// Root needs no change of a mode, which the check would find too.
	writeAsRoot := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if os.Getuid() != 0 {
				t.Skip("this user is not root: root has to write without a change of modes")
			}
			testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("A"), 0o444))
		}
	}
	for _, c := range []struct {
		name, want string
		change     func(t *testing.T, dir string)
	}{
		{"nothing", "", func(*testing.T, string) {}},
		{"written again with the same text", "", write("node_modules/a/index.js", "a")},
		{"same length", "changed: node_modules/a/index.js", write("node_modules/a/index.js", "A")},
		{"new file", "added: node_modules/b/lib/c.js", write("node_modules/b/lib/c.js", "c")},
		{"file beside the packages", "added: node_modules/.hidden", write("node_modules/.hidden", "c")},
		{"file at the root", "added: index.js", write("index.js", "c")},
		{"file at the root, by root", "added: index.js", writeAsRoot("index.js")},
		{"new file, by root", "added: node_modules/b/lib/c.js", writeAsRoot("node_modules/b/lib/c.js")},
		{"same length, by root", "changed: node_modules/a/index.js", writeAsRoot("node_modules/a/index.js")},
		{"removed", "removed: node_modules/b/lib/b.js", func(t *testing.T, dir string) {
			os.Chmod(filepath.Join(dir, "node_modules/b/lib"), 0o755)
			testkit.Must(t, os.Remove(filepath.Join(dir, "node_modules/b/lib/b.js")))
		}},
		{"made executable", "changed: node_modules/a/index.js", func(t *testing.T, dir string) {
			testkit.Must(t, os.Chmod(filepath.Join(dir, "node_modules/a/index.js"), 0o755))
		}},
		{"link to another file", "changed: node_modules/.bin/a", func(t *testing.T, dir string) {
			link := filepath.Join(dir, "node_modules/.bin/a")
			os.Chmod(filepath.Dir(link), 0o755)
			testkit.Must(t, errors.Join(os.Remove(link), os.Symlink("../b/lib/b.js", link)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, contents := installed(t)
			tree := open(t, s)
			testkit.Must(t, tree.Check(contents))
			c.change(t, tree.Dir)
			err := tree.Check(contents)
			var changed *ChangedError
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%v", err)
			case c.want != "" && (!errors.As(err, &changed) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	s, _ := installed(t)
	testkit.Fails(t, "another pin", open(t, s).Check(strings.Repeat("0", 64)), "the pin names other files")
}

// TestRestoredTree tests that a copy with other times and inodes passes, and that the next
// check of it is fast again.
func TestRestoredTree(t *testing.T) {
	s, contents := installed(t)
	tree := open(t, s)
	before := testkit.Get(readHead(tree.seal))(t)
	file := filepath.Join(tree.Dir, "node_modules/a/index.js")
	os.Chmod(filepath.Dir(file), 0o755)
	testkit.Must(t, errors.Join(os.Remove(file), os.WriteFile(file, []byte("a"), 0o444), os.Chmod(filepath.Dir(file), 0o555)))
	testkit.Must(t, tree.Check(contents))
	again := open(t, s)
	after, err := readHead(again.seal)
	if err != nil || after.attributes == before.attributes && before.attributes != "" {
		t.Errorf("%v: the seal is the old one", err)
	}
	seal := testkit.Get(os.ReadFile(again.seal.Name()))(t)
	now, err := attributesDigest(again.tree.Root(), sealLines(seal))
	if err != nil || now != after.attributes {
		t.Errorf("%v: the new seal does not fit", err)
	}
}

// TestNoLocks tests that a system or filesystem without locks is an error of its own, and no
// installation by another process, for which a caller would wait.
func TestNoLocks(t *testing.T) {
	none := &os.PathError{Op: "lock", Path: "/s", Err: fmt.Errorf("mcp-jail has no locks of directories on plan9: %w", errors.ErrUnsupported)}
	err := lockFault(none)
	if errors.Is(err, ErrBusy) || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "on plan9") {
		t.Errorf("no locks: %v", err)
	}
	testkit.Is(t, "locked", lockFault(&os.PathError{Op: "lock", Path: "/s", Err: private.ErrLocked}), ErrBusy)
}

// TestStageContinues tests that an interrupted installation leaves its files to the next one,
// and that two cannot work in one stage.
func TestStageContinues(t *testing.T) {
	s := Store{t.TempDir()}
	first := testkit.Get(s.Stage("k"))(t)
	plant(t, first.Dir, map[string]string{"cache/x": "fetched"})
	testkit.Is(t, "a second one at once", testkit.ErrorOf(s.Stage("k")), ErrBusy)
	other := testkit.Get(s.Stage("other"))(t)
	other.Close()
	first.Close()
	next := testkit.Get(s.Stage("k"))(t)
	defer next.Close()
	if b, err := os.ReadFile(filepath.Join(next.Dir, "cache/x")); string(b) != "fetched" {
		t.Errorf("%q, %v", b, err)
	}
	for _, bad := range []string{"", ".x", "a/b", "..", "a/../b"} {
		if g, err := s.Stage(bad); err == nil {
			g.Close()
			t.Errorf("the key %q is accepted", bad)
		}
	}
}

// TestRemove tests that a tree is removed unless a server runs from it.
func TestRemove(t *testing.T) {
	s, _ := installed(t)
	tree := testkit.Get(s.Open(id()))(t)
	trees, err := s.Trees()
	if err != nil || len(trees) != 1 || trees[0].ID != id() || trees[0].Bytes == 0 {
		t.Fatalf("%+v, %v", trees, err)
	}
	testkit.Is(t, "in use", s.Remove(trees[0]), ErrInUse)
	tree.Close()
	testkit.Must(t, s.Remove(trees[0]))
	testkit.Is(t, "after", testkit.ErrorOf(s.Open(id())), ErrNotInstalled)
	left, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*"))
	for _, name := range left {
		testkit.Contains(t, "is left", name, "staging")
	}
}

// TestThrownAgain: a tree is thrown away again if the trash was just removed, and only until it has been moved.
func TestThrownAgain(t *testing.T) {
	s, _ := installed(t)
	top := testkit.Get(private.Open(s.Dir, "."))(t)
	defer top.Close()
	gone, below := &os.PathError{Op: "move", Path: trashName, Err: os.ErrNotExist}, id().below()
	for _, c := range []struct {
		name   string
		fails  int // times that the trash is gone
		moved  bool
		thrown int
		want   error
	}{
		{"always", 99, false, 4, gone},
		{"moved, and not deleted", 99, true, 1, gone},
		{"three times", 3, false, 4, nil}, // it throws the tree away
	} {
		thrown := 0
		err := again(func() (bool, error) {
			if thrown++; thrown <= c.fails {
				return c.moved, gone
			}
			return throwAway(top, below)
		})
		if thrown != c.thrown || !errors.Is(err, c.want) {
			t.Errorf("%s: %d times, %v", c.name, thrown, err)
		}
	}
	testkit.Is(t, "it is there", testkit.ErrorOf(s.Open(id())), ErrNotInstalled)
	if moved, err := throwAway(top, below); moved || err == nil {
		t.Errorf("a tree that is gone: %v, %v", moved, err)
	}
}

// TestID tests that no name of a package leads out of its place.
func TestID(t *testing.T) {
	for _, bad := range []ID{
		{"npm", "../x", "1", digest}, {"npm", "a/b", "1", digest}, {"npm", "@a/../b", "1", digest}, {"npm", "@a/b/c", "1", digest}, {"npm", "@/b", "1", ""},
		{"npm", "a", "../1", digest}, {"npm", "a", "1", "zz"}, {"", "a", "1", digest}, {"npm", "a", "1", "0123"}, {"npm", ".a", "1", digest}, {"npm", "a\nb", "1", digest},
	} {
		testkit.Fails(t, fmt.Sprintf("%+v is accepted", bad), bad.validate(), "")
	}
	testkit.Works(t, "", id().validate())
}
