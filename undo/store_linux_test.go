package undo

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
)

// TestExpire: sessions go by age and by size, the oldest first, and never while they run.
func TestExpire(t *testing.T) {
	w := newWorld(t)
	session := func(size int) *Writer {
		w.check(os.WriteFile(w.at("f"), bytes.Repeat([]byte("x"), size), 0o644))
		w.begin()
		w.write("f", "y", os.O_TRUNC)
		w.files.Finish()
		return w.writer
	}
	left := func() string {
		all, err := w.store.Sessions()
		w.check(err)
		var ids []string
		for _, s := range all {
			ids = append(ids, s.ID)
		}
		return strings.Join(ids, " ")
	}
	dirs := func(ws ...*Writer) string {
		var ids []string
		for _, w := range ws {
			ids = append(ids, w.ID())
		}
		return strings.Join(ids, " ")
	}
	rename := func(w *Writer, name string) { // so that the names have a known order
		to := filepath.Join(filepath.Dir(w.Dir), name)
		testkit.Must(t, os.Rename(w.Dir, to))
		w.Dir = to
	}
	old, large, small, running := session(10), session(1<<20), session(10), session(1<<20)
	for name, w := range map[string]*Writer{"1": running, "2": old, "3": large, "4": small} {
		rename(w, name)
	}
	for _, s := range []*Writer{old, large, small} {
		s.Close()
	}
	long := time.Now().Add(-72 * time.Hour)
	files, _ := filepath.Glob(old.Dir + "/*")
	for _, f := range append(files, old.Dir) {
		w.check(os.Chtimes(f, long, long))
	}
	w.store.Expire(time.Hour*100, 1<<30)
	if got := left(); got != dirs(small, large, old, running) {
		t.Errorf("what is young and small enough was removed: %s", got)
	}
	if gone := w.store.Expire(48*time.Hour, 1<<30); strings.Join(gone, " ") != old.ID() {
		t.Errorf("gone by age: %v", gone)
	}
	if got := left(); got != dirs(small, large, running) {
		t.Errorf("by age: %s", got)
	}
	w.store.Expire(48*time.Hour, 100<<10)
	if got := left(); got != dirs(small, running) {
		t.Errorf("by size: %s", got)
	}
	if gone := w.store.Expire(48*time.Hour, 1); len(gone) != 0 || left() != dirs(small, running) {
		t.Errorf("the last one was removed: %v", gone)
	}
	if s, err := readSession(running.Dir); err != nil || !s.Running {
		t.Errorf("%v, running: %+v", err, s)
	}
	running.Close()
	w.store.Expire(0, 0)
	if got, _ := os.ReadDir(w.store.Dir); len(got) != 0 {
		t.Errorf("at the end there is %v", got)
	}
}

// TestUnchangedSession leaves nothing behind.
func TestUnchangedSession(t *testing.T) {
	w := newWorld(t)
	w.begin()
	w.end()
	if got, _ := os.ReadDir(w.store.Dir); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
}

// TestFinishCloses tests that the first Finish closes both files and gives up their room, also if
// the jail has changed nothing, and if its journal cannot be read.
func TestFinishCloses(t *testing.T) {
	for name, c := range map[string]struct {
		jail    func(w *world)
		changed bool
	}{
		"changed":    {func(w *world) { w.write("f", "x", 0) }, true},
		"unchanged":  {func(*world) {}, false},
		"unreadable": {func(w *world) { w.check(w.files.Journal.Truncate(1)); w.write("f", "x", 0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin()
			defer w.writer.Close()
			c.jail(w)
			data := filepath.Join(w.writer.Dir, nameOf(w.files)+journal.DataSuffix)
			counts := func() bool {
				before, _ := w.writer.Room(1 << 20)
				f, err := os.OpenFile(data, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
				w.check(err)
				_, err = f.Write(make([]byte, 64<<10))
				w.check(errors.Join(err, f.Sync(), f.Close()))
				after, _ := w.writer.Room(1 << 20)
				return after != before
			}
			if w.files.Finished() || !counts() {
				t.Error("the control: it counts as finished before")
			}
			if changed := w.files.Finish(); changed != c.changed {
				t.Errorf("changed is %v", changed)
			}
			for _, f := range []*os.File{w.files.Journal, w.files.Data} {
				if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
					t.Errorf("%s is open: %v", f.Name(), err)
				}
			}
			if grows := counts(); !w.files.Finished() || grows {
				t.Errorf("finished %v, still counted with the files that grow %v", w.files.Finished(), grows)
			}
			if w.files.Finish() {
				t.Error("the second Finish reports a change")
			}
		})
	}
}

// TestRoom: the jails of a session share what it may keep.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	w.check(os.WriteFile(w.at("f"), bytes.Repeat([]byte("x"), 1<<20), 0o644))
	w.begin()
	room := func(what string, min, max int64) {
		t.Helper()
		if all, lines := w.writer.Room(4 << 20); all < min || all > max || lines >= journal.MaxJournal || lines < journal.MaxJournal-4096 {
			t.Errorf("%s: %d, %d of the journal", what, all, lines)
		}
	}
	room("at first", 4<<20-8192, 4<<20)
	w.write("f", "y", os.O_TRUNC)
	room("while it runs", 3<<20-16384, 3<<20)
	w.files.Finish()
	room("when it has ended", 3<<20-16384, 3<<20)
	w.newJail()
	w.end()
	room("after one without changes", 3<<20-16384, 3<<20)
}

// TestSessionsInOrder tests that the names of sessions sort in the order in which the sessions
// began, even within a second, whatever the time zone. The last session is found by its name.
func TestSessionsInOrder(t *testing.T) {
	store, before := Store{Dir: t.TempDir()}, ""
	defer func(zone *time.Location) { time.Local = zone }(time.Local)
	for i := range 50 {
		w, err := store.Begin(Head{Server: "test"})
		testkit.Must(t, err)
		defer w.Close()
		if w.ID() <= before {
			t.Errorf("%s after %s", w.ID(), before)
		}
		before = w.ID()
		time.Local = time.FixedZone("", -3600*(i%12))
	}
}
