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
// changes of the server, and that the server has only moved since. What others want back goes back.
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
			w.run(Selection{Others: true})
			w.mustHave(c.at, "the user's")
		})
	}
}

// TestDirectoryMovedMeanwhile is TestMovedMeanwhile for an empty directory, which moves back as a new
// one.
func TestDirectoryMovedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.check(os.Mkdir(w.at("x"), 0o755))
	w.begin()
	settled := w.sweeps()
	w.rmdir("x")
	settled()
	w.check(os.Mkdir(w.at("x"), 0o755))
	w.check(w.rename("x", "y", 0))
	settled()
	w.end()
	w.undo(w.session(), 0)
	if _, err := os.Stat(w.at("y")); err != nil {
		t.Error(err)
	}
	r, err := NewRestorer(w.session(), Selection{Others: true})
	w.check(err)
	if refused := Refused(r.Steps); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
	_, _, err = r.Run(w.store)
	w.check(err)
	if _, err := os.Stat(w.at("x")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.at("y")); err == nil {
		t.Error("it stands at both names")
	}
}

// TestOthersBetween tests what undo does with a path at which others left something between two changes of
// the server: nothing is removed that it put elsewhere, of others' or of what was there first, unless it has
// its place again or is the server's. Each pair has a control.
func TestOthersBetween(t *testing.T) {
	saved := func(text string) func(*world) { return func(w *world) { w.save("d0/f0", text) } }
	moved := func(to string, flags uint) func(*world) {
		return func(w *world) { w.check(w.rename("d0/f0", to, flags)) }
	}
	written := func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }
	linked := func(w *world) { w.link("d0/f0", "g") }
	chmod := func(w *world) { w.chmod("d0/f0", 0o600) }
	for name, c := range map[string]struct {
		steps []func(*world) // of the server and of others
		left  string         // the reason for what is left; "": nothing is
		want  map[string]string
	}{
		"a second name, theirs is wanted": {[]func(*world){written, saved("theirs"), linked}, "", map[string]string{"d0/f0": "theirs", "g": ""}},
		"a second name":                   {[]func(*world){written, saved("theirs"), linked}, "--others", map[string]string{"g": "theirs"}},
		"the first one moved":             {[]func(*world){moved("g", 0), saved("theirs"), moved("h", 0)}, "it is the file that", map[string]string{"d0/f0": "theirs", "h": "", "g": "file 0 of d0"}},
		"the first one moved and written": {[]func(*world){func(w *world) { moved("g", 0)(w); w.write("g", "server", os.O_TRUNC) }, saved("theirs"), moved("h", 0)}, "", map[string]string{"d0/f0": "theirs", "h": "", "g": ""}},
		"theirs moved back over theirs":   {[]func(*world){chmod, saved("first"), moved("g", 0), saved("second"), moved("g", unix.RENAME_EXCHANGE)}, "it is the file that", map[string]string{"d0/f0": "first", "g": "second"}},
		"theirs moved over theirs":        {[]func(*world){chmod, saved("first"), moved("g", 0), saved("second"), moved("g", 0)}, "", map[string]string{"d0/f0": "second", "g": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			settled := w.sweeps()
			for _, step := range c.steps {
				step(w)
				settled()
			}
			w.end()
			refused := Refused(w.run(Selection{Others: c.left != "--others"}).Steps)
			for _, s := range refused {
				if c.left == "" || !strings.Contains(s.Why, c.left) {
					t.Errorf("%s is left: %s", s.Path, s.Why)
				}
			}
			if len(refused) == 0 && c.left != "" {
				t.Error("nothing is left")
			}
			for path, text := range c.want {
				w.mustHave(path, text)
			}
		})
	}
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
