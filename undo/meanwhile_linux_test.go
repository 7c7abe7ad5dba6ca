package undo

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// save writes a file as an editor does: it gives another file the name.
func (w *world) save(name, text string) {
	w.t.Helper()
	w.check(os.WriteFile(w.at(name+".new"), []byte(text), 0o644))
	w.check(os.Rename(w.at(name+".new"), w.at(name)))
}

// TestMovedMeanwhile tests that undo removes nothing that others have left at a path between two
// changes of the server, and that the server has only moved since.
func TestMovedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		first     func(w *world)
		at        string
		from, to  string // of the server's rename
		left      string // where the file of others is then
		inPlace   bool
		overwrite bool // the server writes it after that: the control
	}{
		"attributes":   {first: func(w *world) { w.chmod("d0/f0", 0o600) }, at: "d0/f0", from: "d0/f0", to: "g", left: "g"},
		"content":      {first: func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }, at: "d0/f0", from: "d0/f0", to: "g", left: "g"},
		"in place":     {first: func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }, at: "d0/f0", from: "d0/f0", to: "g", left: "g", inPlace: true},
		"a directory":  {first: func(w *world) { w.chmod("d0/f0", 0o600) }, at: "d0/f0", from: "d0", to: "e", left: "e/f0"},
		"a new file":   {first: func(w *world) { w.write("x", "server", 0); w.remove("x") }, at: "x", from: "x", to: "y", left: "y"},
		"over another": {first: func(w *world) { w.chmod("d0/f0", 0o600) }, at: "d0/f0", from: "d0/f0", to: "d1/f1", left: "d1/f1"},
		"control":      {first: func(w *world) { w.chmod("d0/f0", 0o600) }, at: "d0/f0", from: "d0/f0", to: "g", left: "g", overwrite: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			settled := w.sweeps()
			c.first(w)
			settled()
			if c.inPlace {
				w.check(os.WriteFile(w.at(c.at), []byte("the user's"), 0o644))
			} else {
				w.save(c.at, "the user's")
			}
			w.check(w.rename(c.from, c.to, 0))
			if c.overwrite {
				w.write(c.left, "server again", os.O_TRUNC)
			}
			settled()
			w.end()
			w.undo(w.session(), 0)
			if c.overwrite {
				w.mustHave(c.left, "")
				return
			}
			w.mustHave(c.left, "the user's")
		})
	}
}

// TestOthersBetween tests that undo does not remove a file that others left between two changes of the server, and of
// which the server has only made a second name.
func TestOthersBetween(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	w.write("d0/f0", "server", os.O_TRUNC)
	settled()
	w.save("d0/f0", "theirs")
	settled()
	w.link("d0/f0", "g")
	settled()
	w.end()
	refused := Refused(w.run(Selection{}).Steps)
	if len(refused) == 0 || !strings.Contains(refused[0].Why, "it is the file that others left") {
		t.Errorf("%+v", refused)
	}
	w.mustHave("g", "theirs")
}

// TestEditedAfterUndo tests that undo keeps a file that an earlier undo of the session made, and that
// others have changed and the server has moved since.
func TestEditedAfterUndo(t *testing.T) {
	for name, edited := range map[string]bool{"edited": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			settled := w.sweeps()
			w.write("d0/f0", "server", os.O_TRUNC)
			settled()
			w.undo(w.session(), 0)
			if edited {
				w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644))
			}
			w.check(w.rename("d0/f0", "g", 0))
			settled()
			w.end()
			w.undo(w.session(), 0)
			w.mustHave("d0/f0", "file 0 of d0")
			if edited {
				w.mustHave("g", "the user's")
			} else {
				w.mustHave("g", "")
			}
		})
	}
}

// TestEarlierFirst tests that the undo of a later session keeps the file that the session moved, if
// the undo of an earlier one has made another one for it meanwhile.
func TestEarlierFirst(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	w.end()
	first := w.session()
	w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644))
	w.begin()
	w.check(w.rename("d0/f0", "g", 0))
	w.end()
	second := w.session()
	w.undo(first, 0)
	w.undo(second, 0)
	w.mustHave("d0/f0", "file 0 of d0")
	w.mustHave("g", "the user's")
}

// TestLinkOfSameContent tests that a file that the server has replaced by a hard link to another one,
// of the same content, is a file of its own again, and that the other one keeps its mode.
func TestLinkOfSameContent(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"other mode": 0o755, "same look": 0o600} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for file, mode := range map[string]os.FileMode{"a": 0o600, "b": mode} {
				w.check(os.WriteFile(w.at(file), nil, 0o600))
				w.check(os.Chmod(w.at(file), mode))
				w.check(unix.UtimesNanoAt(unix.AT_FDCWD, w.at(file), make([]unix.Timespec, 2), 0))
			}
			before := w.tree()
			w.begin()
			w.remove("b")
			w.link("a", "b")
			w.end()
			w.mustUndo(w.session(), 0)
			w.same("undone", before)
		})
	}
}

// TestChangedWhileWritten tests that undo leaves what others put at a path while it writes the file
// that is to be there.
func TestChangedWhileWritten(t *testing.T) {
	for name, c := range map[string]struct {
		path   string
		change func(w *world)
		left   bool
	}{
		"control":       {"d0/f0", func(*world) {}, false},
		"control, none": {"d0/f2", func(*world) {}, false},
		"saved":         {"d0/f0", func(w *world) { w.save("d0/f0", "the user's") }, true},
		"in place":      {"d0/f0", func(w *world) { w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0)) }, true},
		"made":          {"d0/f2", func(w *world) { w.save("d0/f2", "the user's") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f0", "server", os.O_TRUNC)
			w.remove("d0/f2")
			w.end()
			r, err := NewRestorer(w.session(), Selection{})
			w.check(err)
			writer, err := w.store.Begin(Head{Server: "test", Undoes: r.Session.ID})
			w.check(err)
			defer writer.Close()
			files, err := writer.Jail(r.Session.Head.Roots)
			w.check(err)
			defer files.Finish()
			r.keeper = keeperOf(t, files)
			step := &work{Step: &r.Steps[r.review.Paths[w.at(c.path)]]}
			p, err := r.review.OpenPlace(step.Path)
			w.check(err)
			defer p.Close()
			w.check(r.keep(step, p))
			w.check(r.fill(step, p))
			c.change(w)
			if err := step.replace(p); (err == object.ErrChanged) != c.left {
				t.Error(err)
			}
			if c.left {
				w.mustHave(c.path, "the user's")
			} else {
				w.mustHave(c.path, "file "+c.path[len(c.path)-1:]+" of d0")
			}
		})
	}
}
