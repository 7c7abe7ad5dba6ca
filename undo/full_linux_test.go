package undo

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// whenFull runs a function while no file of this process can become longer than 64 KB, as on a full disk.
func (w *world) whenFull(f func()) {
	w.t.Helper()
	var limit unix.Rlimit
	w.must(unix.Getrlimit(unix.RLIMIT_FSIZE, &limit))
	w.must(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 64 << 10, Max: limit.Max}))
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	f()
}

// TestFullDisk: an undo that a full disk ends takes nothing away that it does not bring back: what was there comes
// with the next undo, of which no path must be named, and the server's text as well with an undo of the first.
func TestFullDisk(t *testing.T) {
	if os.Getenv("UNDO_FULL") == "" { // a log that the go command asks this process for would be on the full disk, too
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "UNDO_FULL=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestFullDisk ")) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	for _, tt := range []struct {
		name   string
		server func(w *world)
		half   string // the path that is half restored
		user   string // what the user makes afterwards, and names
	}{
		{"in place", func(w *world) { w.write("a=server") }, "a", ""},
		{"in place, and changed since", func(w *world) { w.write("a=server") }, "a", "a=user's"},
		{"removed", func(w *world) { w.remove("a") }, "", ""},
		{"removed, and made anew", func(w *world) { w.remove("a") }, "", "a=user's"},
		{"a folder in the way", func(w *world) { w.remove("a"); w.write("a/x=server"); w.write("a/y/z=server") }, "", ""},
		{"an empty folder in the way", func(w *world) { w.remove("a"); w.write("a/") }, "", ""},
		{"a link in the way", func(w *world) { w.remove("a"); w.write("a->b") }, "", ""},
		{"a file in the way of its folder", func(w *world) { w.remove("d"); w.write("d=server") }, "", ""},
		{"the user's file in the way of its folder", func(w *world) { w.remove("d") }, "", "d=user's"},
		{"moved, and a folder in the way", func(w *world) { w.move("a", "m"); w.write("a/x=server") }, "", ""},
		{"moved into the folder in the way", func(w *world) { w.move("a", "m"); w.write("a/"); w.move("m", "a/m") }, "", ""},
		{"moved to the place of its folder", func(w *world) { w.move("d/a", "m"); w.remove("d"); w.move("m", "d") }, "", ""},
	} {
		for call := range 2 {
			t.Run(fmt.Sprint(tt.name, " ", call), func(t *testing.T) {
				large := strings.Repeat("user's ", 20<<10)
				w := newWorld(t, "a="+large, "b=1", "d/a="+large, "d/b=2")
				before := w.tree(true)
				w.begin(true)
				w.calls(func() { tt.server(w) })
				id := w.end()
				var named []string
				if name, _, ok := strings.Cut(tt.user, "="); ok {
					w.plain(tt.user)
					named = []string{name}
				}
				after := w.tree(true)
				undo := w.undoFull(id, call, tt.half, named...)
				if changed := !maps.Equal(after, w.tree(true)); (undo != "") != changed {
					t.Fatalf("changed: %t, and the undo has the name %q", changed, undo)
				}
				if undo != "" {
					if stay, _ := w.undo(undo, 0); len(stay) > 0 {
						t.Errorf("the undo undone: stay %v", stay)
					}
					w.wants("the undo undone", after)
					w.undoFull(id, call, tt.half, named...)
				}
				if undo == "" {
					w.undo(id, call, named...)
				} else if stay, _ := w.undo(id, call); len(stay) > 0 {
					t.Errorf("the second undo: stay %v", stay)
				}
				w.wants("undone", before)
			})
		}
	}
}

// undoFull undoes a session, or a call of it, on a full disk, and returns the name of the undo. The path half must be
// half restored.
func (w *world) undoFull(id string, call int, half string, take ...string) (undo string) {
	w.t.Helper()
	w.whenFull(func() {
		s, err := w.store.Session(id)
		w.must(err)
		take = slices.Clone(take)
		for i := range take {
			take[i] = w.at(take[i])
		}
		r := NewRestorer(s, Selection{Call: call, Take: take}, func(string) string { return "" })
		undo, err = r.Run()
		w.must(err)
		failed := 0
		for _, step := range r.Steps {
			if step.Err != nil {
				failed++
			}
			if errors.Is(step.Err, ErrHalf) != (step.Path == w.at(half)) {
				w.t.Errorf("%s: %v", step.Path, step.Err)
			}
		}
		if failed == 0 {
			w.t.Error("the disk was not full")
		}
	})
	return undo
}
