package undo

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TestOpenOverCalls tests that what a server writes by a descriptor from an earlier call is not
// taken for the user's. The control is a file that the server has closed, and that the user writes.
func TestOpenOverCalls(t *testing.T) {
	for name, open := range map[string]bool{"the server's": true, "the user's": false} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			before := w.tree()
			w.begin()
			w.nextCall(1)
			w.write("d0/f0", "call 1", os.O_TRUNC)
			kept, err := os.OpenFile(w.at("d0/f0"), os.O_WRONLY, 0)
			w.check(err)
			info, err := object.LookPath(w.at("d0/f0"))
			w.check(err)
			var closed atomic.Bool
			closed.Store(!open)
			w.keeper.Open = func() func(uint64) bool {
				return func(inode uint64) bool { return inode == info.ID.Ino && !closed.Load() }
			}
			w.nextCall(2)
			w.mkdir("other")
			w.settles("other")
			if !open {
				w.settles("d0/f0")
			}
			w.nextCall(3)
			_, err = kept.WriteString("call 3")
			w.check(err)
			w.check(kept.Close())
			closed.Store(true)
			w.settles("d0/f0")
			w.end()
			if open {
				w.mustUndo(w.session(), 0)
				w.same("undone", before)
				return
			}
			w.mustLeave("d0/f0", "changed after the server's last change")
			w.mustHave("d0/f0", "call 3")
		})
	}
}

// settles waits until what the server left at a path is on record.
func (w *world) settles(name string) {
	w.t.Helper()
	testkit.Eventually(w.t, name+" is not pending", func() bool { return !slices.Contains(w.keeper.Pending(), w.at(name)) })
}

// TestOtherNameInLaterCall tests that undo of a call names the later call that changed a file by its
// other name. The control is a file that its user has changed by that name.
func TestOtherNameInLaterCall(t *testing.T) {
	for why, change := range map[string]func(w *world){
		"a later call (2), by another name": func(w *world) { w.write("d0/sub/hard", "call 2", os.O_TRUNC) },
		"after the server's last change": func(w *world) {
			w.check(os.WriteFile(w.at("d0/sub/hard"), []byte("the user's"), 0o644))
		},
	} {
		t.Run(why, func(t *testing.T) {
			w := filled(t)
			before := w.tree()
			w.begin()
			settled := w.sweeps()
			w.nextCall(1)
			w.write("d0/f1", "call 1", os.O_TRUNC)
			settled()
			tick()
			w.nextCall(2)
			change(w)
			settled()
			w.end()
			r, out, _ := w.undo(w.session(), 1)
			if text := said(r, out); !strings.Contains(text, why) {
				t.Errorf("undo said %q", text)
			}
			if strings.Contains(why, "later call") {
				w.mustUndo(w.session(), 2)
				w.mustUndo(w.session(), 1)
				w.same("both undone", before)
			}
		})
	}
}

// held is a file that the server of a world keeps open for writing.
type held struct {
	*world
	f    *os.File
	open atomic.Bool
}

// hold has the server open a file, and tells the keeper that it is open.
func (w *world) hold(name string) *held {
	w.t.Helper()
	w.write(name, "", os.O_APPEND)
	f, err := os.OpenFile(w.at(name), os.O_WRONLY|os.O_APPEND, 0)
	w.check(err)
	h := &held{world: w, f: f}
	h.open.Store(true)
	info, err := object.LookPath(w.at(name))
	w.check(err)
	w.keeper.After = func(time.Duration, func()) {} // no sweep settles what else is pending
	w.keeper.Open = func() func(uint64) bool {
		return func(inode uint64) bool { return inode == info.ID.Ino && h.open.Load() }
	}
	return h
}

func (h *held) add(text string) {
	h.t.Helper()
	tick()
	_, err := h.f.WriteString(text)
	h.check(err)
}

func (h *held) close() {
	h.check(h.f.Close())
	h.open.Store(false)
}

// calls returns the calls to which the changes of a path belong, as mcp-jail changes shows them.
func (w *world) calls(name string) []int {
	for _, e := range w.session().Events(Selection{}) {
		if e.Path == w.at(name) {
			return e.Calls
		}
	}
	return nil
}

// TestWrittenInLaterCall tests that what a server writes by a descriptor from an earlier call belongs
// to the call in which it is written.
func TestWrittenInLaterCall(t *testing.T) {
	w := filled(t)
	before := w.tree()
	w.begin()
	w.nextCall(1)
	h := w.hold("d0/f0")
	h.add(", 1")
	w.nextCall(2) // writes nothing there
	w.mkdir("other")
	w.nextCall(3)
	h.add(", 3")
	w.nextCall(4)
	w.nextCall(5)
	h.add(", 5")
	h.close()
	w.end()
	if got := w.calls("d0/f0"); !slices.Equal(got, []int{1, 3, 5}) {
		t.Errorf("it belongs to the calls %v", got)
	}
	for call, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 0, 5: 1} {
		if got := w.session().Events(Selection{Call: call}); len(got) != want {
			t.Errorf("call %d: %v", call, got)
		}
	}
	w.mustLeaveInCall(3, "d0/f0", "later call (5)")
	w.mustLeaveInCall(1, "d0/f0", "later call (3)")
	w.mustUndo(w.session(), 5)
	w.mustHave("d0/f0", "file 0 of d0, 1, 3")
	w.mustUndo(w.session(), 3)
	w.mustHave("d0/f0", "file 0 of d0, 1")
	w.mustUndo(w.session(), 2)
	w.mustUndo(w.session(), 1)
	w.same("undone", before)
}

// TestOpenUnchangedIsNotCopied tests that a file that stays open without being written is kept once.
func TestOpenUnchangedIsNotCopied(t *testing.T) {
	w := begun(t)
	w.nextCall(1)
	h := w.hold("d0/f0")
	h.add(", 1")
	w.nextCall(2)
	before, err := w.files.Data.Stat()
	w.check(err)
	w.nextCall(3)
	after, err := w.files.Data.Stat()
	w.check(err)
	if after.Size() != before.Size() {
		t.Errorf("%d bytes more are kept of a file that has not changed", after.Size()-before.Size())
	}
	h.add(", 3")
	h.close()
	w.nextCall(4)
	w.end()
	w.mustUndo(w.session(), 3)
	w.mustHave("d0/f0", "file 0 of d0, 1")
}

// TestOpenTooLarge tests that a file is named that has become too large to be kept for a later call.
func TestOpenTooLarge(t *testing.T) {
	w := filled(t)
	before := w.tree()
	w.begin()
	w.keeper.FileBytes = 20
	told := ""
	w.keeper.Tell = func(text string) { told += text }
	w.nextCall(1)
	h := w.hold("d0/f0")
	h.add(strings.Repeat("1", 20))
	w.nextCall(2)
	h.add(", 2")
	h.close()
	w.end()
	if !strings.Contains(told, "are kept of a file") {
		t.Errorf("it was told %q", told)
	}
	w.mustLeaveInCall(2, "d0/f0", "its content was not kept: it has")
	w.mustLeaveInCall(1, "d0/f0", "later call (2)")
	w.mustUndo(w.session(), 0)
	w.same("the session", before)
}
