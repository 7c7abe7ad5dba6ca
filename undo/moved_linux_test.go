package undo

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUndoLeavesMoved tests that undo removes no file that the server moved, as long as the file
// does not get its old name back, and that a later undo finishes.
func TestUndoLeavesMoved(t *testing.T) {
	const text = "file 0 of d0"
	newFile := func(w *world) { w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644)) }
	toG := func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) }
	for name, c := range map[string]struct {
		server, user, repair func(*world)
		paths                []string // of the first undo
		kept                 string   // a path that still has the file after the first undo
		atWork               bool     // the first undo finds only at work that it cannot move the file back
	}{
		"the user has made a new file": {
			server: toG, user: newFile, kept: "d0/g",
			repair: func(w *world) { w.check(os.Remove(w.at("d0/f0"))) },
		},
		"only the new name is selected": {server: toG, paths: []string{"d0/g"}, kept: "d0/g"},
		"it has the name of another file": {
			server: func(w *world) { w.remove("d0/f2"); w.check(w.rename("d0/f0", "d0/f2", 0)) },
			user:   newFile, kept: "d0/f2",
			repair: func(w *world) { w.check(os.Remove(w.at("d0/f0"))) },
		},
		"a file that moved back would take its name": {
			server: func(w *world) { w.check(w.rename("d0/f2", "d0/g", 0)); w.check(w.rename("d0/f0", "d0/f2", 0)) },
			user:   newFile, kept: "d0/f2",
			repair: func(w *world) { w.check(os.Remove(w.at("d0/f0"))) },
		},
		"the user has put something into a new directory": {
			server: func(w *world) { toG(w); w.mkdir("d0/f0") },
			user:   func(w *world) { w.check(os.WriteFile(w.at("d0/f0/users"), nil, 0o644)) },
			repair: func(w *world) { w.check(os.Remove(w.at("d0/f0/users"))) },
			atWork: true,
		},
		"its directory is a file": {
			server: func(w *world) { w.check(w.rename("d0", "e", 0)) },
			user:   func(w *world) { w.check(os.WriteFile(w.at("d0"), nil, 0o644)) },
			kept:   "e/f0",
			atWork: true,
			repair: func(w *world) { w.check(os.Remove(w.at("d0"))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			before := w.tree()
			w.begin()
			c.server(w)
			w.end()
			if c.user != nil {
				c.user(w)
			}
			for i := range c.paths {
				c.paths[i] = w.at(c.paths[i])
			}
			r, out, _ := w.undo(w.session(), 0, c.paths...)
			refused := slices.ContainsFunc(Refused(r.Steps), func(s Step) bool { return s.Path == w.at(c.kept) })
			if refused == c.atWork {
				t.Errorf("refused: %+v", Refused(r.Steps))
			}
			if c.kept == "" {
				c.kept = w.temp("d0/f0")
			}
			w.mustHave(c.kept, text)
			if text := said(r, out); !strings.Contains(text, w.at("d0/f0")) {
				t.Errorf("the undo said %q", text)
			}
			if c.repair != nil {
				c.repair(w)
			}
			w.mustUndo(w.session(), 0)
			w.same("undone", before)
		})
	}
}

// said returns the reasons for which an undo did not do everything.
func said(r *Restorer, out []Outcome) string {
	var text []string
	for _, s := range Refused(r.Steps) {
		text = append(text, s.Path+": "+s.Why)
	}
	for _, o := range out {
		if o.Err != nil {
			text = append(text, o.Path+": "+o.Err.Error())
		}
	}
	return strings.Join(text, "\n")
}

// TestUndoKeepsLaterCall tests that the undo of a call leaves the mode that a later call has set,
// though the file has had several names.
func TestUndoKeepsLaterCall(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	w.nextCall(3)
	w.check(w.rename("d0/f0", "d0/g", 0))
	settled()
	w.nextCall(5)
	w.check(w.rename("d0/g", "d0/f0", 0))
	w.chmod("d0/f0", 0o600)
	settled()
	w.end()
	r, out, _ := w.undo(w.session(), 3)
	if text := said(r, out); !strings.Contains(text, "a later call (5)") {
		t.Errorf("the undo said %q", text)
	}
	if info, err := os.Stat(w.at("d0/f0")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	w.mustUndo(w.session(), 5) // the control
	w.mustUndo(w.session(), 3)
}

// otherGroups returns groups that this process may give to its files, beside its own.
func otherGroups() []int {
	if os.Geteuid() == 0 {
		return []int{1234}
	}
	groups, _ := os.Getgroups()
	return slices.DeleteFunc(groups, func(g int) bool { return g == os.Getgid() })
}

// TestUndoLeavesUsersAttributes tests that a file that the server made, and to which the user gave
// other attributes, stays, even if those are the attributes of no file.
func TestUndoLeavesUsersAttributes(t *testing.T) {
	changes := map[string]func(w *world) error{
		"mode 0": func(w *world) error { return os.Chmod(w.at("n"), 0) },
	}
	if os.Getuid() == 0 {
		changes["root's"] = func(w *world) error { return os.Chown(w.at("n"), 0, -1) }
	}
	if groups := otherGroups(); len(groups) > 0 { // a user without a second group has "mode 0" only
		changes["another group"] = func(w *world) error { return os.Chown(w.at("n"), -1, groups[0]) }
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.begin()
			w.write("n", "made", 0)
			if os.Getuid() == 0 {
				w.check(os.Chown(w.at("n"), 1236, 1236))
			}
			w.end()
			w.check(change(w))
			r, out, _ := w.undo(w.session(), 0)
			if text := said(r, out); !strings.Contains(text, "changed after the server's last change") {
				t.Errorf("the undo said %q", text)
			}
			if _, err := os.Lstat(w.at("n")); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUndoUnreadableNames tests that both names of a file come back that its owner may not read.
func TestUndoUnreadableNames(t *testing.T) {
	w := filled(t)
	before := w.tree()
	w.begin()
	w.write("d2/f1", "x", os.O_TRUNC) // also sub/hard
	w.chmod("d2/f1", 0)
	w.end()
	w.mustUndo(w.session(), 0)
	w.same("undone", before)
}

// nextCall begins another call of a tool.
func (w *world) nextCall(number int) {
	w.keeper.PerCall = true
	w.check(w.files.BeginCall(Call{Number: number}))
	w.keeper.CallBegins()
}

// times sets the time of a file.
func (w *world) times(name string) {
	fd, err := unix.Open(w.at(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	w.check(err)
	defer unix.Close(fd)
	w.keeper.Attributes(fd, w.at(name))
	at := unix.NsecToTimespec(2e18)
	w.check(unix.UtimesNanoAt(unix.AT_FDCWD, w.at(name), []unix.Timespec{at, at}, 0))
}
