package undo

import (
	"os"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TestSwappedDirectory tests that a server that still runs does not get the mode of a directory for
// what it puts in the place of that directory, once undo has made it again.
func TestSwappedDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		server func(w *world)
		mode   os.FileMode
		err    error
	}{
		"the control": {func(*world) {}, os.ModeDir | os.ModeSetgid | 0o775, nil},
		"a program": {func(w *world) {
			w.check(os.Remove(w.at("s")))
			w.check(os.WriteFile(w.at("s"), []byte("#!/bin/sh\n"), 0o755))
		}, 0o755, object.ErrChanged},
		"a directory of the server's": {func(w *world) {
			w.check(os.Rename(w.at("s"), w.at("away")))
			w.check(os.Mkdir(w.at("s"), 0o755))
		}, os.ModeDir | 0o755, object.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.check(os.Mkdir(w.at("s"), 0o755))
			w.check(os.Chmod(w.at("s"), 0o775|os.ModeSetgid))
			w.begin()
			w.check(w.rename("s", "moved", 0))
			w.end()
			r, err := NewRestorer(w.session(), Selection{})
			w.check(err)
			i, known := r.review.Paths[w.at("s")]
			if !known || r.Steps[i].Action != Remake {
				t.Fatalf("the steps are %+v", r.Steps)
			}
			w.begin() // the undo is a session, too
			r.keeper = w.keeper
			step := &work{Step: &r.Steps[i]}
			p, err := r.review.OpenPlace(w.at("s"))
			w.check(err)
			defer p.Close()
			w.check(r.makeDir(step, p))
			c.server(w)
			if err := r.attributes(step, p); err != c.err {
				t.Errorf("the error is %v, not %v", err, c.err)
			}
			info, err := os.Stat(w.at("s"))
			w.check(err)
			if info.Mode() != c.mode {
				t.Errorf("it has the mode %v, not %v", info.Mode(), c.mode)
			}
			w.end()
		})
	}
}
