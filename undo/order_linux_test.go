package undo

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
)

// inOrder are pairs of changes, of which the second one makes the undo replace a file of the first.
var inOrder = map[string][2]func(w *world){
	"renamed, written": {
		func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) },
		func(w *world) { w.write("d0/g", "server", os.O_TRUNC) },
	},
	"renamed, removed": {
		func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) },
		func(w *world) { w.remove("d0/g") },
	},
	"renamed, replaced": {
		func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) },
		func(w *world) { w.write("t", "server", 0); w.check(w.rename("t", "d0/g", 0)) },
	},
	"renamed, replaced by a copy": {
		func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) },
		func(w *world) { w.remove("d0/g"); w.write("d0/g", "file 0 of d0", 0) },
	},
	"its directory renamed, written": {
		func(w *world) { w.check(w.rename("d0", "e", 0)) },
		func(w *world) { w.write("e/f0", "server", os.O_TRUNC) },
	},
	"its mode changed, written": {
		func(w *world) { w.chmod("d0/f0", 0o600) },
		func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) },
	},
	"of two names, written twice": {
		func(w *world) { w.write("d0/f1", "server", os.O_TRUNC) },
		func(w *world) { w.write("d0/f1", "again", os.O_TRUNC) },
	},
	"written by both names, and again": {
		func(w *world) { w.write("d0/f1", "server", os.O_TRUNC); w.write("d0/sub/hard", "x", os.O_APPEND) },
		func(w *world) { w.write("d0/sub/hard", "once more", os.O_TRUNC); w.write("d0/f1", "x", os.O_APPEND) },
	},
	"written, renamed": { // the control
		func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) },
		func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) },
	},
}

// TestUndoInOrder tests that two sessions, or two calls, are undone one after the other, though the
// undo of the later one has made another file of one that the earlier one moved or changed.
func TestUndoInOrder(t *testing.T) {
	for name, change := range inOrder {
		t.Run(name+", in two sessions", func(t *testing.T) {
			w := filled(t)
			before := w.tree()
			first := w.does(change[0])
			between := w.tree()
			second := w.does(change[1])
			for range 2 {
				undo := w.mustUndo(second, 0)
				w.same("the second undone", between)
				if again, err := readSession(undo); err != nil {
					t.Fatal(err)
				} else {
					w.mustUndo(again, 0)
				}
			}
			w.mustUndo(second, 0)
			w.mustUndo(first, 0)
			w.same("undone", before)
		})
		t.Run(name+", in two calls", func(t *testing.T) {
			w := filled(t)
			before := w.tree()
			w.begin()
			settled := w.sweeps()
			for i := range change {
				w.nextCall(i + 1)
				w.during(change[i])
				settled()
			}
			w.end()
			w.mustUndo(w.session(), 2)
			w.mustUndo(w.session(), 1)
			w.same("undone", before)
		})
	}
}

// during makes a change, of which no sweep sees a part.
func (w *world) during(change func(*world)) {
	end := w.keeper.Begin()
	defer end()
	change(w)
}

// does makes a session with a change.
func (w *world) does(change func(*world)) *Session {
	w.begin()
	settled := w.sweeps()
	w.during(change)
	settled()
	w.end()
	return w.session()
}

// TestUndoKeepsUnknownMoved tests that undo removes no file that may be the one that it cannot find:
// here the undo of the later session has not told which file it has made for which.
func TestUndoKeepsUnknownMoved(t *testing.T) {
	for name, change := range inOrder {
		if !strings.Contains(name, "renamed, ") {
			continue
		}
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", known ", known), func(t *testing.T) {
				w := filled(t)
				before := w.tree()
				first := w.does(change[0])
				between := w.tree()
				undo, err := readSession(w.mustUndo(w.does(change[1]), 0))
				w.check(err)
				if known {
					w.mustUndo(first, 0)
					w.same("undone", before)
					return
				}
				text, err := os.ReadFile(w.file(undo, 0, journal.JournalSuffix))
				w.check(err)
				var lines []string
				for line := range strings.Lines(string(text)) {
					if !strings.HasPrefix(line, journal.WordFor+" ") {
						lines = append(lines, line)
					}
				}
				w.check(os.WriteFile(w.file(undo, 0, journal.JournalSuffix), []byte(strings.Join(lines, "")), 0o600))
				r, out, _ := w.undo(first, 0)
				if text := said(r, out); text == "" {
					t.Errorf("the undo said %q", text)
				}
				if !strings.Contains(w.tree(), "file 0 of d0") {
					t.Errorf("the file is lost: %s", diffLines(between, w.tree()))
				}
			})
		}
	}
}

// TestUndoOfMovedCopy tests that two files with the same content stay two files, though the server
// has removed one and given its name to the other.
func TestUndoOfMovedCopy(t *testing.T) {
	w := filled(t)
	w.check(os.WriteFile(w.at("d0/copy"), []byte("file 0 of d0"), 0o644))
	before := w.tree()
	w.does(func(w *world) { w.remove("d0/f0"); w.check(w.rename("d0/copy", "d0/f0", 0)) })
	w.mustUndo(w.session(), 0)
	w.same("undone", before)
}

// TestUndoRandomInOrder tests that random changes of two sessions are undone one after the other.
func TestUndoRandomInOrder(t *testing.T) {
	for seed := range uint64(testkit.Rounds(10, 200)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := filled(t)
			w.random = rand.New(rand.NewPCG(seed, 3))
			var trees []string
			var sessions []*Session
			for range 2 {
				trees = append(trees, w.tree())
				w.begin()
				for range 3 + w.random.IntN(12) {
					w.randomOperation()
				}
				w.end()
				sessions = append(sessions, w.session())
			}
			for i := 1; i >= 0 && !t.Failed(); i-- {
				w.mustUndo(sessions[i], 0)
				w.same(fmt.Sprintf("session %d undone", i+1), trees[i])
			}
		})
	}
}

// TestUndoKeepsStandIn tests that an undo does not remove a file which stands for one that its user
// has given another content since, and of which it is now the only copy.
func TestUndoKeepsStandIn(t *testing.T) {
	w := filled(t)
	first := w.does(func(w *world) { w.check(w.rename("d0/f0", "d0/f1", 0)) })
	open := func(id string) *Session {
		s, err := readSession(id)
		w.check(err)
		return s
	}
	undo := w.mustUndo(first, 0)
	again := w.mustUndo(open(undo), 0)
	w.check(os.WriteFile(w.at("d0/f1"), []byte("the user's"), 0o644)) // the file that was moved
	w.undo(open(again), 0)
	w.mustHave("d0/f0", "file 0 of d0")
	w.undo(open(undo), 0)
	w.mustHave("d0/f0", "file 0 of d0")
	w.mustHave("d0/f1", "the user's")
}

// TestUndoKeepsRemadeLink tests that an undo removes no link or directory which cannot get the name
// back that it had, though earlier undos have made it again and again.
func TestUndoKeepsRemadeLink(t *testing.T) {
	for _, kind := range []string{"link", "empty"} {
		for _, taken := range []bool{true, false} {
			t.Run(fmt.Sprint(kind, ", taken ", taken), func(t *testing.T) {
				w := filled(t)
				w.check(os.Mkdir(w.at("d0/empty"), 0o755))
				s := w.does(func(w *world) { w.check(w.rename("d0/"+kind, "d0/moved", 0)) })
				after := w.tree()
				for range 3 { // undone, undone again, and undone once more
					var err error
					s, err = readSession(w.mustUndo(s, 0))
					w.check(err)
				}
				if !taken {
					w.mustUndo(s, 0) // the control
					w.same("undone four times", after)
					return
				}
				w.check(os.WriteFile(w.at("d0/moved"), []byte("the user's"), 0o644))
				before := w.tree()
				r, out, _ := w.undo(s, 0)
				if text := said(r, out); !strings.Contains(text, "which has to be put back first") {
					t.Errorf("the undo said %q", text)
				}
				w.same("not undone", before)
			})
		}
	}
}
