package undo

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestOpenOverCalls tests that what a server writes by a descriptor from an earlier call is not
// taken for the user's. The control is a file that the server has closed, and that the user writes.
func TestOpenOverCalls(t *testing.T) {
	for name, open := range map[string]bool{"the server's": true, "the user's": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.fill()
			before := w.tree()
			w.begin()
			w.nextCall(1)
			w.write("d0/f0", "call 1", os.O_TRUNC)
			kept, err := os.OpenFile(w.at("d0/f0"), os.O_WRONLY, 0)
			w.check(err)
			info, err := lookPath(w.at("d0/f0"))
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
	w.keeper.mu.Lock()
	if !w.keeper.timer {
		w.keeper.timer = true
		time.AfterFunc(firstSweep, w.keeper.sweep)
	}
	w.keeper.mu.Unlock()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		w.keeper.mu.Lock()
		pending := w.keeper.pending[w.at(name)] != nil
		w.keeper.mu.Unlock()
		switch {
		case !pending:
			return
		case time.Now().After(deadline):
			w.t.Fatalf("the keeper does not come to an end with %s", name)
		}
	}
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
			w := newWorld(t)
			w.fill()
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
