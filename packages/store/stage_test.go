package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDamagedTree tests that a tree without a seal, and one with a damaged seal, are replaced.
func TestDamagedTree(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(seal string) error
		listed bool // Trees gives no error
	}{
		"no seal":        {os.Remove, true},
		"truncated seal": {func(seal string) error { return errors.Join(os.Chmod(seal, 0o600), os.Truncate(seal, 20)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, contents := installed(t)
			testkit.Must(t, c.damage(filepath.Join(s.Dir, id().below(), sealName)))
			if tree, err := s.Open(id()); err == nil {
				testkit.Fails(t, "it is accepted", tree.Check(contents), "")
				tree.Close()
			}
			if trees, err := s.Trees(); len(trees) != 0 || (err == nil) != c.listed {
				t.Errorf("%v, %v", trees, err)
			}
			stage, err := s.Stage("again")
			testkit.Must(t, err)
			plant(t, filepath.Join(stage.Dir, "work"), map[string]string{"a": "b"})
			contents, err = stage.Commit(id(), filepath.Join(stage.Dir, "work"))
			testkit.Must(t, errors.Join(err, stage.Discard()))
			testkit.Works(t, "", open(t, s).Check(contents))
		})
	}
}

// TestLockSurvivesNewSeal tests that a tree in use is not removed after a slow check has
// replaced its seal.
func TestLockSurvivesNewSeal(t *testing.T) {
	s, contents := installed(t)
	running := open(t, s)
	file := filepath.Join(running.Dir, "package.json")
	if err := errors.Join(os.Chmod(file, 0o600), os.Chmod(file, 0o444)); err != nil { // another time of change
		t.Fatal(err)
	}
	other := open(t, s)
	testkit.Must(t, errors.Join(other.Check(contents), other.Close()))
	trees, err := s.Trees()
	if err != nil || len(trees) != 1 {
		t.Fatalf("%v, %v", trees, err)
	}
	testkit.Is(t, "", s.Remove(trees[0]), ErrInUse)
}

// TestSeal tests that a tree is found in its own store, and nowhere else, before it is
// committed; and that files that only their owner may execute, or not even he may read, are
// kept.
func TestSeal(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "store")}
	t.Cleanup(func() { removeAll(s) })
	stage := testkit.Get(s.Stage("k"))(t)
	work := filepath.Join(stage.Dir, "work")
	plant(t, work, map[string]string{"closed/secret": "x", "run": "x"})
	for _, f := range []struct {
		name string
		mode os.FileMode
	}{{"closed/secret", 0}, {"closed", 0}, {"run", 0o700 | os.ModeSetuid}} {
		testkit.Must(t, os.Chmod(filepath.Join(work, f.name), f.mode))
	}
	sealed := testkit.Get(stage.Seal(id(), work))(t)
	testkit.Is(t, "before", testkit.ErrorOf(s.Open(id())), ErrNotInstalled)
	trial := open(t, sealed.Store)
	testkit.Works(t, "", trial.Check(sealed.Contents))
	for range 2 { // the second has nothing to do
		testkit.Must(t, sealed.Commit())
	}
	tree := open(t, s)
	testkit.Works(t, "", tree.Check(sealed.Contents))
	for name, want := range map[string]os.FileMode{"closed/secret": 0o444, "run": 0o555} {
		testkit.Equal(t, name, testkit.Get(os.Stat(filepath.Join(tree.Dir, name)))(t).Mode(), want)
	}
	testkit.Fails(t, "a stage removes what is outside it", stage.Remove(filepath.Join(stage.Dir, "..", "other")), "")
}

// TestSweep tests that old stages and the trash go, and that stages in use stay.
func TestSweep(t *testing.T) {
	s := Store{t.TempDir()}
	for _, key := range []string{"old", "new", "used"} {
		stage := testkit.Get(s.Stage(key))(t)
		plant(t, stage.Dir, map[string]string{"x": "x"})
		if key == "used" {
			defer stage.Close()
		} else {
			stage.Close()
		}
		if long := time.Now().Add(-48 * time.Hour); key != "new" {
			testkit.Must(t, os.Chtimes(stage.Dir, long, long))
		}
	}
	plant(t, filepath.Join(s.Dir, "trash"), nil)
	testkit.Equal(t, "with an empty trash", len(s.Leftovers()), 3)
	plant(t, filepath.Join(s.Dir, "trash", "1"), map[string]string{"x": "x"})
	testkit.Equal(t, "with a file in the trash", len(s.Leftovers()), 4)
	s.Sweep(24 * time.Hour)
	left, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	testkit.Equal(t, "is left", strings.Join(left, " "), "new used")
}

// TestStaysInside tests which links a tree may have.
func TestStaysInside(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"node_modules/.bin/x", "../x/cli.js", true}, {"node_modules/.bin/x", "../../package.json", true}, {"a", "b/./c", true}, {"a/b", "..", true},
		{"a", "..", false}, {"node_modules/.bin/x", "../../../etc/passwd", false}, {"a", "/etc/passwd", false}, {"a/b", "c/../../x", false}, {"a", "", false},
	} {
		testkit.Equal(t, fmt.Sprintf("%s -> %s", c.path, c.target), staysInside(c.path, c.target), c.want)
	}
	for _, target := range []string{`\x`, `\\m\s\x`, `//m/s/x`, `C:\x`, `C:x`, `\\?\C:\x`, `b\..\..\x`} {
		if filepath.Separator == '\\' && staysInside("a", target) {
			t.Errorf("%s stays inside", target)
		}
	}
}

// TestLinkOutOfTree: a tree with a link that leads out of it is refused.
func TestLinkOutOfTree(t *testing.T) {
	s := Store{t.TempDir()}
	stage := testkit.Get(s.Stage("k"))(t)
	defer stage.Discard()
	work := filepath.Join(stage.Dir, "work")
	plant(t, work, map[string]string{"a": "x"})
	testkit.Must(t, os.Symlink("/dev/zero", filepath.Join(work, "package.json")))
	testkit.Fails(t, "", testkit.ErrorOf(stage.Seal(id(), work)), "a link to /dev/zero")
}
