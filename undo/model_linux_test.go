package undo

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// modelNames are the paths of the model: some are files, directories and links at the beginning.
var modelNames = []string{"a", "b", "c", "d", "d/a", "d/e", "d/e/b", "f", "f/x", "f/y", "l", "m", "m/n"}

func modelWorld(t *testing.T) *world {
	return newWorld(t, "a=1", "b=2", "d/a=3", "d/e/b=4", "d/e/c=5", "f/", "l->d", "m/n=6", "m/o=7")
}

// free reports whether something may be made at a name: its directory is one, and no link is in the way.
func (w *world) free(name string) bool {
	for dir := filepath.Dir(name); ; dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(w.at(dir)); err != nil || !fi.IsDir() {
			return false
		}
		if dir == "." {
			return true
		}
	}
}

// step has the server do something random.
func (w *world) step(r *rand.Rand, n int) {
	name, to := modelNames[r.IntN(len(modelNames))], modelNames[r.IntN(len(modelNames))]
	fi, err := os.Lstat(w.at(name))
	_, there := os.Lstat(w.at(to))
	apart := !strings.HasPrefix(to+"/", name+"/") && !strings.HasPrefix(name+"/", to+"/")
	switch kind := r.IntN(9); {
	case !w.free(name):
	case kind <= 1 && (err != nil || fi.Mode().IsRegular()):
		w.write(fmt.Sprintf("%s=server %d", name, n))
	case kind == 2 && err == nil:
		w.remove(name)
	case kind <= 4 && err == nil && apart && w.free(to) && there != nil:
		w.move(name, to)
	case kind == 5 && !w.noLinks && err == nil && fi.Mode().IsRegular() && there != nil && w.free(to):
		w.link(name, to)
	case kind == 6 && err == nil && fi.Mode()&fs.ModeSymlink == 0:
		mode := []fs.FileMode{0o600, 0o644, 0o700, 0o755}[r.IntN(4)]
		if fi.IsDir() { // whose names can be seen
			mode |= 0o700
		}
		w.chmod(name, mode)
	case kind == 7 && err != nil:
		w.write(name + "->a")
	case kind == 8 && (err != nil || fi.Mode().IsRegular()):
		w.hold(name, fmt.Sprintf("held %d", n))
	}
}

// session runs a random session. user is called between its calls.
func (w *world) session(r *rand.Rand, perCall bool, user func(n int)) string {
	w.begin(perCall)
	for i := range 2 + r.IntN(4) {
		if user != nil && r.IntN(2) == 0 {
			user(i)
		}
		w.calls(func() {
			for j := range 1 + r.IntN(6) {
				w.step(r, 10*i+j)
			}
		})
	}
	return w.end()
}

// The short rounds of the models find each of ten deliberate faults that the first 150 find.

// TestModel: a random session is undone, the undo is undone, and the session is undone again.
func TestModel(t *testing.T) {
	for seed := range uint64(testkit.Rounds(10, 3000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, w := rand.New(rand.NewPCG(seed, 1)), modelWorld(t)
			before := w.tree(true)
			id := w.session(r, seed%2 == 0, nil)
			after := w.tree(true)
			if maps.Equal(before, after) {
				return
			}
			undo := w.clean("undo", id)
			w.wants("undone", before)
			again := w.clean("undo of the undo", undo)
			w.wants("the undo undone", after)
			w.clean("undo again", id)
			w.wants("undone again", before)
			w.clean("that undo undone is undone", again)
		})
	}
}

// TestModelCalls: the calls of a session are undone from the last to the first.
func TestModelCalls(t *testing.T) {
	for seed := range uint64(testkit.Rounds(6, 1500)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, w := rand.New(rand.NewPCG(seed, 2)), modelWorld(t)
			states := []map[string]string{w.tree(true)}
			w.begin(true)
			for i := range 4 {
				w.calls(func() {
					for j := range 1 + r.IntN(5) {
						w.step(r, 10*i+j)
					}
				})
				states = append(states, w.tree(true))
			}
			id := w.end()
			for call := 4; call > 0; call-- {
				if stay, _ := w.undo(id, call); len(stay) > 0 {
					t.Fatalf("call %d: %v", call, stay)
				}
				w.wants(fmt.Sprintf("call %d undone", call), states[call-1])
			}
		})
	}
}

// TestModelSessions: two sessions are undone in either order; in the wrong one, a second run finishes. What
// stays in between is named.
func TestModelSessions(t *testing.T) {
	for seed := range uint64(testkit.Rounds(8, 2200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, w := rand.New(rand.NewPCG(seed, 3)), modelWorld(t)
			w.noLinks = true // the second session knows no other name of a file
			before := w.tree(true)
			first := w.session(r, false, nil)
			between := w.tree(true)
			second := w.session(r, false, nil)
			if seed%2 == 0 {
				w.clean("the second", second)
				w.wants("the second undone", between)
				w.clean("the first", first)
				w.wants("both undone", before)
				return
			}
			end := w.tree(true)
			_, undo := w.undo(first, 0)
			if undo != "" {
				w.undo(undo, 0)
			}
			w.wants("the first undone and done again", end)
			w.clean("the second", second)
			w.clean("the first", first)
			w.wants("both undone", before)
		})
	}
}

// TestModelUser: the user edits files between calls and after the session. No undo takes away what the user
// has written there last, and all that the user has not touched comes back.
func TestModelUser(t *testing.T) {
	for seed := range uint64(testkit.Rounds(16, 4500)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, w := rand.New(rand.NewPCG(seed, 4)), modelWorld(t)
			before := w.tree(true)
			edited := map[string]string{} // what the user wrote last, by path
			user := func(n int) {
				name := []string{"a", "b", "d/a", "d/e/b", "f/x", "m/n", "own"}[r.IntN(7)]
				fi, err := os.Lstat(w.at(name))
				if !w.free(name) || err == nil && !fi.Mode().IsRegular() {
					return
				}
				_ = os.Remove(w.at(name)) // the user's file is one of its own, not another name of one
				edited[name] = fmt.Sprint("user's ", n)
				w.plain(name + "=" + edited[name])
			}
			id := w.session(r, seed%3 == 0, user)
			for i := range r.IntN(3) {
				user(100 + i)
			}
			for _, name := range []string{"a", "b", "m/n"} { // the user's other names of files
				if b, err := os.ReadFile(w.at(name)); err == nil && r.IntN(2) == 0 && w.free(name) && os.Link(w.at(name), w.at("z"+filepath.Base(name))) == nil {
					edited["z"+filepath.Base(name)] = string(b)
				}
			}
			stay, undo := w.undo(id, 0)
			w.checkUser(edited, before, stay)
			if undo != "" {
				w.undo(undo, 0)
				stay, _ = w.undo(id, 0)
				w.checkUser(edited, before, stay)
			}
		})
	}
}

func (w *world) checkUser(edited, before map[string]string, stay map[string]string) {
	w.t.Helper()
	now := w.tree(true)
	for name, text := range edited {
		if got, _ := os.ReadFile(w.at(name)); string(got) != text && !strings.Contains(stay[name], "names, and all") {
			w.t.Fatalf("%s has %q and not %q of the user; stay: %v", name, got, text, stay)
		}
	}
	for name, text := range before {
		if _, ok := edited[name]; ok || stay[name] != "" || isAround(name, edited) || now[name] == text {
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(stay)), func(s string) bool { return strings.HasPrefix(name, s+"/") }) {
			w.t.Fatalf("%s: got %q, want %q, and it is not said; stay: %v", name, now[name], text, stay)
		}
	}
}

// isAround reports whether a path is a directory around one of those, which keeps it where it is.
func isAround(name string, edited map[string]string) bool {
	for e := range edited {
		if strings.HasPrefix(e, name+"/") {
			return true
		}
	}
	return false
}
