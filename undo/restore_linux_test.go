package undo

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"golang.org/x/sys/unix"
)

func TestUndoEachOperation(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"write":             func(w *world) { w.write("d0/f0", "new", os.O_TRUNC) },
		"append":            func(w *world) { w.write("d0/f0", "more", os.O_APPEND) },
		"write twice":       func(w *world) { w.write("d0/f0", "new", os.O_TRUNC); w.write("d0/f0", "newer", os.O_TRUNC) },
		"make":              func(w *world) { w.write("d0/new", "new", 0) },
		"make a directory":  func(w *world) { w.mkdir("d0/n"); w.write("d0/n/f", "x", 0); w.mkdir("d0/n/m") },
		"remove":            func(w *world) { w.remove("d0/f0") },
		"remove and make":   func(w *world) { w.remove("d0/f0"); w.write("d0/f0", "new", 0) },
		"remove a link":     func(w *world) { w.remove("d0/link") },
		"replace a link":    func(w *world) { w.remove("d0/link"); w.write("d0/link", "no link", 0) },
		"link for a file":   func(w *world) { w.remove("d0/f0"); w.symlink("/etc/passwd", "d0/f0") },
		"rename":            func(w *world) { w.check(w.rename("d0/f0", "d1/moved", 0)) },
		"rename over":       func(w *world) { w.check(w.rename("d0/f0", "d1/f0", 0)) },
		"rename and write":  func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)); w.write("d0/g", "x", os.O_TRUNC) },
		"write and rename":  func(w *world) { w.write("d0/f0", "x", os.O_TRUNC); w.check(w.rename("d0/f0", "d0/g", 0)) },
		"replace by rename": func(w *world) { w.write("d0/tmp", "x", 0); w.check(w.rename("d0/tmp", "d0/f0", 0)) },
		"exchange":          func(w *world) { w.check(w.rename("d0/f0", "d1/f0", unix.RENAME_EXCHANGE)) },
		"exchange directories": func(w *world) {
			w.check(w.rename("d0", "d1", unix.RENAME_EXCHANGE))
			w.write("d0/f0", "x", os.O_TRUNC)
		},
		"swap by three renames": func(w *world) {
			w.check(w.rename("d0/f0", "t", 0))
			w.check(w.rename("d0/f2", "d0/f0", 0))
			w.check(w.rename("t", "d0/f2", 0))
		},
		"rename a directory": func(w *world) { w.check(w.rename("d0", "e", 0)) },
		"rename a directory, change in it": func(w *world) {
			w.check(w.rename("d0", "e", 0))
			w.write("e/f0", "x", os.O_TRUNC)
			w.write("e/new", "x", 0)
			w.remove("e/f2")
			w.check(w.rename("e", "g", 0))
		},
		"directory for a file": func(w *world) { w.remove("d0/f0"); w.mkdir("d0/f0"); w.write("d0/f0/x", "y", 0) },
		"file for a directory": func(w *world) {
			w.check(w.rename("d0/sub", "away", 0))
			w.write("d0/sub", "x", 0)
		},
		"remove a tree": func(w *world) {
			w.remove("d0/sub/deep")
			w.remove("d0/sub/hard")
			w.remove("d0/sub")
		},
		"write through a hard link": func(w *world) { w.write("d0/f1", "x", os.O_TRUNC) },
		"remove a hard link":        func(w *world) { w.remove("d0/f1") },
		"remove both hard links":    func(w *world) { w.remove("d0/f1"); w.remove("d0/sub/hard") },
		"write both hard links":     func(w *world) { w.write("d0/f1", "x", os.O_TRUNC); w.write("d0/sub/hard", "y", os.O_TRUNC) },
		"replace a hard link":       func(w *world) { w.remove("d0/f1"); w.write("d0/f1", "x", 0) },
		"make a hard link":          func(w *world) { w.link("d0/f0", "d0/l"); w.write("d0/l", "x", os.O_TRUNC) },
		"modes":                     func(w *world) { w.chmod("d0/f0", 0o755); w.chmod("d0/sub", 0o700) },
		"no rights":                 func(w *world) { w.write("d0/f0", "x", os.O_TRUNC); w.chmod("d0/f0", 0); w.chmod("d0", 0o500) },
		"temporary":                 func(w *world) { w.write("d0/t", "x", 0); w.remove("d0/t") },
		"empty":                     func(w *world) { w.write("d0/f0", "", os.O_TRUNC) },
		"large":                     func(w *world) { w.write("d0/big", "", os.O_TRUNC) },
		"rename there and back": func(w *world) {
			w.check(w.rename("d0", "e", 0))
			w.check(w.rename("e", "d0", 0))
		},
		"new directory in the place of a moved one": func(w *world) {
			w.check(w.rename("d0", "e", 0))
			w.mkdir("d0")
			w.write("d0/f0", "new", 0)
			w.write("e/f0", "x", os.O_TRUNC)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			w.check(os.WriteFile(w.at("d0/big"), []byte(strings.Repeat("0123456789abcdef", 9999)), 0o640))
			before := w.tree()
			w.begin()
			change(w)
			after := w.tree() // an ordinary user changes a mode to read it, which moves the time
			w.end()
			if after == before && name != "temporary" && name != "rename there and back" {
				t.Fatal("nothing was changed")
			}
			undone := w.mustUndo(w.session(), 0)
			w.same("undone", before)
			again, err := NewRestorer(w.session(), Selection{})
			w.check(err)
			if len(again.Steps) > 0 {
				t.Errorf("after the undo there is something left to do: %+v", again.Steps)
			}
			if _, err := os.Stat(undone); err != nil {
				return // there was nothing to do
			}
			s, err := readSession(undone)
			w.check(err)
			w.mustUndo(s, 0)
			w.same("the undo undone", after)
		})
	}
}

// TestUndoRandom undoes sequences of random operations, and undoes the undo.
func TestUndoRandom(t *testing.T) {
	for seed := range testkit.Rounds(12, 300) { // four faults put in on purpose are found in the first 6
		w := newWorld(t)
		w.random = rand.New(rand.NewPCG(uint64(seed), 7))
		w.fill()
		before := w.tree()
		w.begin()
		for range 1 + w.random.IntN(60) {
			w.randomOperation()
		}
		w.end()
		after := w.tree()
		if all, err := w.store.Sessions(); err == nil && len(all) == 0 && before == after {
			continue
		}
		undone := w.mustUndo(w.session(), 0)
		w.same(fmt.Sprintf("seed %d undone", seed), before)
		if _, err := os.Stat(undone); err == nil {
			s, err := readSession(undone)
			w.check(err)
			w.mustUndo(s, 0)
			w.same(fmt.Sprintf("seed %d, the undo undone", seed), after)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// randomOperation does something to a random name.
func (w *world) randomOperation() {
	var files, dirs []string
	filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.root, path)
		if d.IsDir() {
			dirs = append(dirs, rel)
		} else {
			files = append(files, rel)
		}
		return nil
	})
	if len(files) == 0 {
		w.write(fmt.Sprintf("n%d", w.random.IntN(5)), "x", 0)
		return
	}
	file, dir := files[w.random.IntN(len(files))], dirs[w.random.IntN(len(dirs))]
	fresh := filepath.Join(dir, fmt.Sprintf("n%d", w.random.IntN(6)))
	_, err := os.Lstat(w.at(fresh))
	exists := err == nil
	info, err := os.Lstat(w.at(file))
	w.check(err)
	regular := info.Mode().IsRegular()
	text := fmt.Sprintf("text %d", w.random.IntN(1e6))
	switch n := w.random.IntN(11); {
	case n <= 1 && regular:
		w.write(file, text, os.O_TRUNC)
	case n == 2 && regular:
		w.write(file, text, os.O_APPEND)
	case n == 3 && !exists:
		w.write(fresh, text, 0)
	case n == 4:
		w.remove(file)
	case n == 5 && !exists:
		w.mkdir(fresh)
	case n == 6:
		to := files[w.random.IntN(len(files))]
		if w.random.IntN(2) == 0 {
			to = fresh
		}
		w.rename(file, to, 0) // it may fail, as a rename of the server may
	case n == 7 && dir != ".":
		w.rename(dir, fresh, 0)
	case n == 8 && !exists && regular:
		w.link(file, fresh)
	case n == 9 && regular:
		w.chmod(file, 0o600|uint32(w.random.IntN(0o100)))
	case n == 10:
		other := dirs[w.random.IntN(len(dirs))]
		if w.random.IntN(2) == 0 {
			other = file
		}
		if other != "." && dir != "." {
			w.rename(dir, other, unix.RENAME_EXCHANGE)
		}
	}
}

// TestUndoRefusesUsersChanges tests that files stay that were changed after the server's last
// change.
func TestUndoRefusesUsersChanges(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	w.write("d0/f2", "server", os.O_TRUNC)
	w.write("d0/new", "server", 0)
	w.remove("d0/f3")
	w.mkdir("d0/made")
	w.check(w.rename("d1/f0", "d1/g", 0))
	w.end()
	time.Sleep(10 * time.Millisecond)
	w.check(os.WriteFile(w.at("d0/f0"), []byte("user's"), 0o644))
	w.check(os.WriteFile(w.at("d0/f3"), []byte("user's"), 0o644))
	w.check(os.WriteFile(w.at("d0/made/mine"), []byte("user's"), 0o644))
	w.check(os.WriteFile(w.at("d1/g"), []byte("user's"), 0o644))
	w.check(os.Remove(w.at("d0/new")))
	r, out, _ := w.undo(w.session(), 0)
	refused := map[string]string{}
	for _, s := range Refused(r.Steps) {
		refused[strings.TrimPrefix(s.Path, w.root+"/")] = s.Why
	}
	for name, want := range map[string]string{
		"d0/f0": "changed after", "d0/f3": "made after", "d1/g": "changed after", "d1/f0": "now, and it was changed after",
	} {
		if !strings.Contains(refused[name], want) {
			t.Errorf("%s: %q, want a refusal with %q", name, refused[name], want)
		}
		delete(refused, name)
	}
	for name, why := range refused {
		t.Errorf("%s was refused: %s", name, why)
	}
	for _, o := range out {
		if strings.HasSuffix(o.Path, "/made") != (o.Err != nil) {
			t.Errorf("%s: %v", o.Path, o.Err)
		}
	}
	for _, name := range []string{"d0/f0", "d0/f3", "d0/made/mine", "d1/g"} {
		if text, _ := os.ReadFile(w.at(name)); string(text) != "user's" {
			t.Errorf("%s has %q", name, text)
		}
	}
	if text, _ := os.ReadFile(w.at("d0/f2")); string(text) != "file 2 of d0" {
		t.Errorf("d0/f2 was not put back: %q", text)
	}
}

// TestUndoHalfAttributes tests that an undo goes on where another one was killed after one of the
// calls that put attributes back. The controls are modes that no undo has given.
func TestUndoHalfAttributes(t *testing.T) {
	w := filled(t)
	w.check(os.Chmod(w.at("d0/f0"), 0o750))
	before := w.tree()
	w.begin()
	w.remove("d0/f0")
	w.write("d0/f0", "file 0 of d0", 0) // the same content again, as a checkout leaves it
	w.chmod("d0/f0", 0o755)
	w.check(w.rename("d1/f0", "d1/g", 0))
	w.chmod("d1/g", 0o755)
	w.end()
	// An undo that was killed notes down what it is about to change.
	undo, err := w.store.Begin(Head{Server: "test", Undoes: w.session().ID})
	w.check(err)
	files, err := undo.Jail([]string{w.root})
	w.check(err)
	w.keeper = keeperOf(t, files)
	for _, name := range []string{"d0/f0", "d1/g", "d1/f0"} {
		w.name(name, false)
	}
	w.check(os.Link(w.at("d1/g"), w.at("d1/f0")))
	undo.Close()
	life := func(end time.Time) {
		w.check(os.Chtimes(filepath.Join(undo.Dir, nameOf(files)+journal.JournalSuffix), end, end))
		w.check(os.Chtimes(filepath.Join(undo.Dir, nameOf(files)+journal.DataSuffix), end, end))
	}
	life(time.Now().Add(-time.Hour))
	r, err := NewRestorer(w.session(), Selection{})
	w.check(err)
	if steps := Refused(r.Steps); len(steps) != 2 {
		t.Errorf("the control: what changed long after the undo was killed is not refused: %+v", r.Steps)
	}
	life(time.Now().Add(time.Hour))
	for mode, refused := range map[fs.FileMode]int{0o700: 1, 0o355: 1, 0o755 | fs.ModeSetuid: 1, 0o755: 0, 0o750: 0} {
		w.check(os.Chmod(w.at("d0/f0"), mode))
		r, err := NewRestorer(w.session(), Selection{})
		w.check(err)
		if steps := Refused(r.Steps); len(steps) != refused {
			t.Errorf("mode %o: %d refused, want %d: %+v", mode, len(steps), refused, steps)
		}
	}
	w.check(os.Chmod(w.at("d0/f0"), 0o750))
	w.mustUndo(w.session(), 0)
	w.same("undone", before)
}

// TestUndoFollowsNoLink tests that a path is refused if its directory is a symbolic link now, and
// that the target of the link stays as it is.
func TestUndoFollowsNoLink(t *testing.T) {
	w := filled(t)
	outside := t.TempDir()
	w.check(os.WriteFile(filepath.Join(outside, "f0"), []byte("outside"), 0o644))
	w.begin()
	w.write("d0/f0", "server", os.O_TRUNC)
	w.end()
	w.check(os.Rename(w.at("d0"), w.at("away")))
	w.check(os.Symlink(outside, w.at("d0")))
	r, _, _ := w.undo(w.session(), 0)
	if steps := Refused(r.Steps); len(steps) != 1 || !strings.Contains(steps[0].Why, "symbolic link") {
		t.Errorf("%+v", r.Steps)
	}
	if text, _ := os.ReadFile(filepath.Join(outside, "f0")); string(text) != "outside" {
		t.Errorf("the file outside has %q", text)
	}
}
