package undo

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
)

// sweeps makes the keeper sweep. It returns a function that waits until no path is pending.
func (w *world) sweeps() (settled func()) {
	w.keeper.Open = func() func(uint64) bool { return func(uint64) bool { return false } }
	return func() {
		w.t.Helper()
		testkit.Eventually(w.t, "no path is pending", func() bool { return len(w.keeper.Pending()) == 0 })
	}
}

func (w *world) mustHave(name, want string) {
	w.t.Helper()
	if got, _ := os.ReadFile(w.at(name)); string(got) != want {
		w.t.Errorf("%s has %q, and should have %q", name, got, want)
	}
}

// TestFirstStateStays tests that the first state of a path is not replaced by one that the keeper
// did not see being written. The user may have written that, or the server through a hidden
// descriptor.
func TestFirstStateStays(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	w.write("d0/f0", "server", os.O_TRUNC)
	w.check(w.rename("d1/f0", "d1/moved", 0))
	settled()
	w.check(os.WriteFile(w.at("d0/f0"), []byte("unseen"), 0o644))
	w.check(os.WriteFile(w.at("d1/moved"), []byte("unseen"), 0o644))
	w.write("d0/f0", "server again", os.O_TRUNC)
	w.write("d1/moved", "server again", os.O_TRUNC)
	settled()
	w.end()
	s := w.session()
	others := 0
	for _, e := range s.Events(Selection{}) {
		if e.Others && strings.HasSuffix(e.Path, "d0/f0") {
			others++
		}
	}
	if others != 1 {
		t.Error("changes does not say that others changed it")
	}
	w.mustUndo(s, 0, w.at("d0/f0"))
	w.mustHave("d0/f0", "file 0 of d0")
}

// TestNamedPath tests that undo replaces what others left after the server where the user has named the path,
// stores it, and puts it back when the undo is undone.
func TestNamedPath(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	w.write("d0/f0", "server", os.O_TRUNC)
	w.write("d1/f0", "server", os.O_TRUNC)
	settled()
	w.end()
	w.save("d0/f0", "the user's")
	w.save("d1/f0", "the user's")
	if r := w.run(Selection{Paths: []string{w.at("d0/f0")}}); len(Refused(r.Steps)) != 1 || !r.Steps[0].Foreign {
		t.Errorf("the control: %+v", r.Steps)
	}
	w.mustHave("d0/f0", "the user's")
	r, err := NewRestorer(w.session(), Selection{Take: []string{w.at("d0/f0")}})
	w.check(err)
	_, id, err := r.Run(w.store)
	w.check(err)
	w.mustHave("d0/f0", "file 0 of d0")
	w.mustHave("d1/f0", "the user's")
	undone, err := w.store.Session(id)
	w.check(err)
	w.mustUndo(undone, 0)
	w.mustHave("d0/f0", "the user's")
}

// TestEditAndRename tests a file that the server has changed, and that the user has changed and
// renamed since. The text of the user is kept when the server changes the file again, in the same
// jail or in the next one.
func TestEditAndRename(t *testing.T) {
	for name, jails := range map[string]int{"one jail": 1, "two jails": 2} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			settled := w.sweeps()
			w.write("d0/f0", "server", os.O_TRUNC)
			settled()
			w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644))
			w.check(os.Rename(w.at("d0/f0"), w.at("d0/mine")))
			if jails > 1 {
				w.files.Finish()
				w.newJail()
			}
			w.write("d0/mine", "server again", os.O_TRUNC)
			if jails == 1 {
				settled()
			}
			w.end()
			w.mustUndo(w.session(), 0)
			w.mustHave("d0/mine", "the user's")
			w.mustHave("d0/f0", "file 0 of d0")
		})
	}
}

// TestReplacedWhilePending tests that a file counts as the user's if the user puts it in the place
// of one that the server has just changed.
func TestReplacedWhilePending(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	var open atomic.Bool
	open.Store(true)
	w.keeper.Open = func() func(uint64) bool { return func(uint64) bool { return open.Load() } }
	w.write("d0/f0", "server", os.O_TRUNC)
	w.write("d0/new", "server", 0)
	w.remove("d0/f2")
	w.write("d0/f3", "server", os.O_TRUNC)
	for _, name := range []string{"d0/f0", "d0/new", "d0/f2"} {
		w.check(os.WriteFile(w.at("mine"), []byte("the user's"), 0o644))
		w.check(os.Rename(w.at("mine"), w.at(name)))
	}
	open.Store(false)
	settled()
	w.end()
	r, _, _ := w.undo(w.session(), 0)
	if n := len(Refused(r.Steps)); n != 3 {
		t.Errorf("%d are refused: %+v", n, r.Steps)
	}
	for _, name := range []string{"d0/f0", "d0/new", "d0/f2"} {
		w.mustHave(name, "the user's")
	}
	w.mustHave("d0/f3", "file 3 of d0")
}

// TestOtherNames tests that another name of a file gets its content back only where the server was
// the last to change it, and only if that name is selected.
func TestOtherNames(t *testing.T) {
	for name, c := range map[string]struct {
		edit  bool
		paths []string
		want  string
	}{
		"the server's": {false, nil, "file 1 of d0"},
		"not named":    {false, []string{"d0/f1"}, "server"},
		"the user's":   {true, nil, "server, and the user"},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f1", "server", os.O_TRUNC)
			w.remove("d0/f1")
			w.end()
			if c.edit {
				w.check(os.WriteFile(w.at("d0/sub/hard"), []byte(c.want), 0o644))
			}
			for i := range c.paths {
				c.paths[i] = w.at(c.paths[i])
			}
			r, _, _ := w.undo(w.session(), 0, c.paths...)
			if n := len(Refused(r.Steps)); (n > 0) != c.edit {
				t.Errorf("%d are refused: %+v", n, r.Steps)
			}
			w.mustHave("d0/f1", "file 1 of d0")
			w.mustHave("d0/sub/hard", c.want)
		})
	}
}

// TestTwoSessions tests two sessions that changed the same paths: the undo of the earlier one names
// the later one, and works when that is undone.
func TestTwoSessions(t *testing.T) {
	w := filled(t)
	before := w.tree()
	var sessions []*Session
	for _, text := range []string{"first", "second"} {
		w.begin()
		w.write("d0/f0", text, os.O_TRUNC)
		w.write("d0/new", text, os.O_TRUNC)
		w.end()
		s, err := readSession(w.writer.Dir)
		w.check(err)
		sessions = append(sessions, s)
	}
	r, err := NewRestorer(sessions[0], Selection{})
	w.check(err)
	for _, s := range r.Steps {
		if s.Action != Refuse || !strings.Contains(s.Why, sessions[1].ID) {
			t.Errorf("%s %s: %s", s.Action, s.Path, s.Why)
		}
	}
	w.mustUndo(sessions[1], 0)
	w.mustHave("d0/f0", "first")
	w.mustUndo(sessions[0], 0)
	w.same("both undone", before)
}

// TestBlockedTemporary tests that an undo works if an object that cannot be removed has the
// temporary name.
func TestBlockedTemporary(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	w.check(w.rename("d0/f2", "d0/g", 0))
	w.end()
	for _, name := range []string{"d0/f0", "d0/f2"} {
		w.check(os.MkdirAll(w.at(w.temp(name)+"/full"), 0o755))
	}
	w.mustUndo(w.session(), 0)
	w.mustHave("d0/f0", "file 0 of d0")
	w.mustHave("d0/f2", "file 2 of d0")
}

// TestPlanWritesNothing tests that the plan of an undo leaves the journals of a session that was
// killed as they are.
func TestPlanWritesNothing(t *testing.T) {
	w := filled(t)
	before := w.tree()
	w.begin()
	w.write("d0/f0", "server", os.O_TRUNC)
	w.files.Journal.Close()
	w.writer.Close()
	s := w.session()
	text, err := os.ReadFile(w.file(s, 0, journal.JournalSuffix))
	w.check(err)
	r, err := NewRestorer(s, Selection{})
	w.check(err)
	if again, err := os.ReadFile(w.file(s, 0, journal.JournalSuffix)); err != nil || string(again) != string(text) {
		t.Errorf("%v, it has now %q", err, again)
	}
	if _, _, err := r.Run(w.store); err != nil {
		t.Error(err)
	}
	if again := w.session(); !again.Ended {
		t.Error("the undo did not note down what the session has left")
	}
	w.same("undone", before)
}

// TestCallNotOnRecord tests that undo leaves what may belong to a call whose beginning could not be
// recorded. In the control it could, and the path was changed by that later call.
func TestCallNotOnRecord(t *testing.T) {
	for name, lost := range map[string]bool{"lost": true, "recorded": false} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			settled := w.sweeps()
			w.nextCall(1)
			w.write("d0/f0", "server", os.O_TRUNC)
			w.write("d0/new", "server", 0)
			settled()
			w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644))
			journal := w.files.Journal
			if lost { // as on a full disk
				readOnly, err := os.Open(journal.Name())
				w.check(err)
				defer readOnly.Close()
				w.files.Journal = readOnly
				if w.files.BeginCall(Call{Number: 2}) == nil {
					t.Fatal("it is on record")
				}
				w.files.Journal = journal
			} else {
				w.nextCall(2)
			}
			w.check(w.rename("d0/f0", "d0/f0", 0))
			settled()
			w.end()
			why := "a later call"
			if lost {
				why = "not known which call"
			}
			r, out, _ := w.undo(w.session(), 1)
			if text := said(r, out); !strings.Contains(text, why) {
				t.Errorf("undo said %q", text)
			}
			w.mustHave("d0/f0", "the user's")
			if _, err := os.Lstat(w.at("d0/new")); (err == nil) != lost {
				t.Errorf("d0/new: %v", err)
			}
		})
	}
}

// TestFoundElsewhere tests that a file does not count as what a killed session left at a path because
// a later session knows it, which found it at another path.
func TestFoundElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		move func(w *world)
		why  string
	}{
		"moved by a session": {func(w *world) {
			w.does(func(w *world) { w.check(w.rename("d0/f1", "d0/f0", 0)) })
		}, "later session"},
		"moved by the user": {func(w *world) { w.check(os.Rename(w.at("d0/f1"), w.at("d0/f0"))) }, "changed after"},
		"not moved":         {func(*world) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f0", "server", os.O_TRUNC)
			id := w.writer.ID()
			w.files.Journal.Close()
			w.files.Data.Close()
			w.writer.Close()
			w.lived(id)
			w.does(func(w *world) { w.name("d0/f1", false) })
			c.move(w)
			s, err := w.store.Session(id)
			w.check(err)
			r, out, _ := w.undo(s, 0)
			if text := said(r, out); !strings.Contains(text, c.why) || c.why == "" && text != "" {
				t.Errorf("undo said %q", text)
			}
			if c.why == "" {
				w.mustHave("d0/f0", "file 0 of d0")
			} else {
				w.mustHave("d0/f0", "file 1 of d0")
			}
		})
	}
}

// TestFoundByOtherName tests that a file counts as what a killed session left at a path, though the
// next session took another name from the file before it changed that path.
func TestFoundByOtherName(t *testing.T) {
	w := filled(t)
	before := w.tree()
	w.begin()
	w.write("d0/sub/hard", "server", os.O_TRUNC)
	id := w.writer.ID()
	w.files.Journal.Close()
	w.files.Data.Close()
	w.writer.Close()
	w.lived(id)
	next := w.does(func(w *world) {
		w.write("d0/t", "server", 0)
		w.check(w.rename("d0/t", "d0/f1", 0))
		w.check(w.rename("d0/sub/hard", "d0/sub/g", 0))
	})
	w.mustUndo(next, 0)
	s, err := w.store.Session(id)
	w.check(err)
	w.mustUndo(s, 0)
	w.same("both undone", before)
}
