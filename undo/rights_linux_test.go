package undo

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// asUser gives the world to an ordinary user, and runs the rest of the goroutine as that user.
func (w *world) asUser() {
	w.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const user = 65534
	above := filepath.Dir(w.root)
	for _, dir := range []string{above, filepath.Dir(above)} {
		w.check(os.Chmod(dir, 0o755))
	}
	for _, dir := range []string{w.root, w.at("d0"), w.at("d0/sub"), w.at("d0/f0"), w.at("d0/f2"), w.at("d0/sub/deep"), w.at("d1")} {
		w.check(os.Lchown(dir, user, user))
	}
	runtime.LockOSThread() // the thread ends with the test
	for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
		if _, _, errno := unix.RawSyscall(call, user, user, user); errno != 0 {
			w.t.Fatal(errno)
		}
	}
}

// TestUnreadable tests that a file or directory is kept which its owner may not read at the moment,
// and that its mode stays.
func TestUnreadable(t *testing.T) {
	w := begun(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.asUser()
		w.check(os.Chmod(w.at("d0/f0"), 0o200))
		w.write("d0/f0", "server", os.O_TRUNC)
		w.chmod("d0/sub", 0)
		w.check(w.rename("d0/sub", "d0/moved", 0))
		w.check(os.Chmod(w.at("d0/moved"), 0o700))
		w.write("d0/moved/deep", "server", os.O_TRUNC)
	}()
	<-done
	info, err := os.Stat(w.at("d0/f0"))
	w.check(err)
	if info.Mode() != 0o200 {
		t.Errorf("it has mode %v", info.Mode())
	}
	w.end()
	s := w.session()
	if len(s.Gaps) > 0 {
		t.Errorf("not known: %+v", s.Gaps)
	}
	w.mustUndo(s, 0)
	if text := string(w.read(w.at("d0/f0"), 0o200)); text != "file 0 of d0" {
		t.Errorf("d0/f0 has %q", text)
	}
	w.mustHave("d0/sub/deep", "deep d0")
}

// TestUnknownNames tests a directory that is moved and cannot be read: the session says that the
// names below it are not known.
func TestUnknownNames(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has a directory that another user cannot read")
	}
	w := filled(t)
	w.check(os.MkdirAll(w.at("d0/sub/closed/x"), 0o755))
	w.check(os.Chmod(w.at("d0/sub/closed"), 0o700))
	w.begin()
	told := ""
	w.keeper.Tell = func(text string) { told += text }
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.asUser()
		w.check(w.rename("d0/sub", "d0/moved", 0))
	}()
	<-done
	w.end()
	if s := w.session(); len(s.Gaps) != 1 || s.Gaps[0].Path != w.at("d0/sub/closed") || !strings.Contains(told, "not known") {
		t.Errorf("gaps %+v, told %q", s.Gaps, told)
	}
}

// TestUnreachable tests that a path does not count as removed if it cannot be looked at. The first
// undo gives its directory the rights back and says that a second undo must follow.
func TestUnreachable(t *testing.T) {
	w := begun(t)
	done := make(chan struct{})
	sweep := func() { t.Error("the control: there is no sweep") }
	w.keeper.After = func(_ time.Duration, f func()) { sweep = f }
	w.keeper.Open = func() func(uint64) bool { return func(uint64) bool { return false } }
	go func() {
		defer close(done)
		w.asUser()
		w.write("d0/sub/deep", "server", os.O_TRUNC)
		w.chmod("d0/sub", 0)
		sweep() // on this thread
	}()
	<-done
	text, err := os.ReadFile(filepath.Join(w.writer.Dir, nameOf(w.files)+journal.JournalSuffix))
	w.check(err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "now") && strings.Contains(line, "deep") && strings.HasSuffix(line, "n\n") {
			t.Errorf("it is recorded as gone: %s", line)
		}
	}
	w.end()
	if os.Geteuid() != 0 { // root can look into every directory
		r, _, _ := w.undo(w.session(), 0)
		want := "it cannot be looked at before the rights of " + w.at("d0/sub") + " are back: run undo again then"
		if left := Refused(r.Steps); len(left) != 1 || left[0].Path != w.at("d0/sub/deep") || left[0].Why != want {
			t.Errorf("the first undo leaves %+v", left)
		}
	}
	w.mustUndo(w.session(), 0)
	w.mustHave("d0/sub/deep", "deep d0")
}

// TestForeignGroup tests that the content of a file is put back if the user may not set its group.
func TestForeignGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make such a file
	}
	w := filled(t)
	w.check(os.Lchown(w.at("d0/f3"), 65534, 0))
	w.check(os.Chmod(w.at("d0/f3"), 0o755|os.ModeSetgid))
	w.begin()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.write("d0/f3", "server", os.O_TRUNC)
		w.end()
		s := w.session()
		r, err := NewRestorer(s, Selection{})
		w.check(err)
		writer, err := w.store.Begin(Head{Server: "test", Undoes: s.ID})
		w.check(err)
		files, err := writer.Jail(s.Head.Roots)
		w.check(err)
		w.check(filepath.Walk(w.store.Dir, func(path string, _ os.FileInfo, _ error) error { return os.Lchown(path, 65534, 65534) }))
		keeper := keeperOf(t, files)
		runtime.GC()
		w.asUser()
		for _, o := range r.Do(keeper) {
			if o.Err != nil {
				t.Errorf("%s: %v", o.Path, o.Err)
			}
		}
	}()
	<-done
	w.mustHave("d0/f3", "file 3 of d0")
	info, err := os.Stat(w.at("d0/f3"))
	w.check(err)
	if info.Mode() != 0o755 {
		t.Errorf("it has mode %v", info.Mode())
	}
}

// TestUndoKeepsAll tests that undo replaces no file that it cannot keep, however many files there
// are.
func TestUndoKeepsAll(t *testing.T) {
	for name, limit := range map[string]func(*Keeper){
		"too large":       func(k *Keeper) { k.FileBytes = 1 },
		"journal is full": func(k *Keeper) { k.JournalBytes = 1200 },
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			for i := range 16 {
				w.write(fmt.Sprintf("d%d/f%d", i/4, i%4), "server", os.O_TRUNC)
			}
			w.end()
			s := w.session()
			r, err := NewRestorer(s, Selection{})
			w.check(err)
			writer, err := w.store.Begin(Head{Server: "test", Undoes: s.ID})
			w.check(err)
			files, err := writer.Jail(s.Head.Roots)
			w.check(err)
			keeper := keeperOf(t, files)
			keeper.Tell = nil
			limit(keeper)
			out := r.Do(keeper)
			files.Finish()
			writer.Close()
			kept, err := readSession(writer.Dir)
			w.check(err)
			for _, o := range out {
				one := Selection{Paths: []string{o.Path}}
				if text, _ := os.ReadFile(o.Path); string(text) != "server" && !kept.Touches(one) {
					t.Errorf("%s was replaced and is not kept", o.Path)
				}
			}
			failed := 0
			for _, o := range out {
				if o.Err != nil {
					failed++
				}
			}
			if failed < 10 {
				t.Errorf("%d of %d were not replaced", failed, len(out))
			}
		})
	}
}

// TestFailedKeepsMode tests that a file keeps its mode if undo gave itself the right to read it, and
// could not put back what was there.
func TestFailedKeepsMode(t *testing.T) {
	for name, cut := range map[string]bool{"control": false, "what was kept is cut": true} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f0", "server", os.O_TRUNC)
			w.chmod("d0/f0", 0)
			w.end()
			s := w.session()
			if cut {
				w.check(os.Truncate(w.file(s, 0, journal.DataSuffix), 0))
			}
			_, out, _ := w.undo(s, 0)
			if len(out) != 1 || (out[0].Err != nil) != cut {
				t.Errorf("%+v", out)
			}
			if cut {
				w.mustHaveMode("d0/f0", 0)
			} else {
				w.mustHave("d0/f0", "file 0 of d0")
			}
		})
	}
}

// TestForeignDirectory tests that a directory of another user, whom the jail does not see, is made
// again as that user's.
func TestForeignDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make such a directory
	}
	for name, owner := range map[string]int{"the user's": 0, "another user's": 65533} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.check(os.Mkdir(w.at("d"), 0o755))
			if owner != 0 { // as the jail sees it
				w.check(os.Lchown(w.at("d"), 65534, 65534))
			}
			w.begin()
			w.check(w.rename("d", "e", 0))
			w.end()
			w.check(os.Lchown(w.at("e"), owner, owner))
			w.mustUndo(w.session(), 0)
			st, err := object.LookPath(w.at("d"))
			w.check(err)
			if int(st.UID) != owner || int(st.GID) != owner {
				t.Errorf("it belongs to %d:%d", st.UID, st.GID)
			}
		})
	}
}
