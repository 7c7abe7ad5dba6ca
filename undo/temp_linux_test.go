package undo

import (
	"os"
	"testing"
)

// TestTemporaryNameOfFile tests that no undo loses a file that the server has moved to the name of
// a temporary file of undo.
func TestTemporaryNameOfFile(t *testing.T) {
	for name, undo := range map[string]func(w *world, s *Session){
		"everything": func(w *world, s *Session) { w.mustUndo(s, 0) },
		"a path": func(w *world, s *Session) {
			w.mustUndo(s, 0, w.at("d0/f0"))
			w.mustUndo(s, 0)
		},
		"a file that was made": func(w *world, s *Session) {
			w.mustUndo(s, 0, w.at("d0/made"))
			w.mustUndo(s, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			want := w.tree()
			w.begin()
			temp := w.temp
			w.write("d0/f0", "server", os.O_TRUNC)
			w.check(w.rename("d0/f2", temp("d0/f0"), 0))
			w.write("d0/made", "server", 0)
			w.check(w.rename("d0/f3", temp("d0/made"), 0))
			w.check(w.rename("d2/f0", temp("d2/f0"), 0))
			w.check(w.rename("d1/f0", "d1/away", 0))
			w.check(w.rename("d1/f2", temp("d1/f0"), 0))
			w.end()
			undo(w, w.session())
			w.same("undone", want)
		})
	}
}

// TestTemporaryNameOfLater tests that undo leaves a file that got the name of a temporary file after
// the session.
func TestTemporaryNameOfLater(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	w.end()
	temp := w.temp("d0/f0")
	w.check(os.WriteFile(w.at(temp), []byte("the only one"), 0o644))
	before := w.tree()
	dir := w.mustUndo(w.session(), 0)
	w.mustHave("d0/f0", "file 0 of d0")
	w.mustHave(temp, "the only one")
	again, err := readSession(dir)
	w.check(err)
	w.mustUndo(again, 0)
	w.same("the undo undone", before)
}

// TestRootsOfJails tests that a change is undone if the jail that made it could write there, even
// if the last jail of the session could not.
func TestRootsOfJails(t *testing.T) {
	w := filled(t)
	want := w.tree()
	var err error
	w.writer, err = w.store.Begin(Head{Server: "test"})
	w.check(err)
	for _, dir := range []string{"d0", "d1"} {
		w.files, err = w.writer.Jail([]string{w.at(dir)})
		w.check(err)
		w.keeper = keeperOf(t, w.files)
		w.write(dir+"/f0", "server", os.O_TRUNC)
		w.files.Finish()
	}
	w.writer.Close()
	dir := w.mustUndo(w.session(), 0)
	w.same("undone", want)
	again, err := readSession(dir)
	w.check(err)
	w.mustUndo(again, 0)
	w.mustHave("d0/f0", "server")
	w.mustHave("d1/f0", "server")
}
