package undo

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
	"golang.org/x/sys/unix"
)

// unseen writes to a file as a server does that nothing records: the size and the time stay.
func (w *world) unseen(name, text string) {
	info, err := os.Stat(w.at(name))
	w.check(err)
	if int(info.Size()) != len(text) {
		w.t.Fatalf("%q has another size than %s", text, name)
	}
	f, err := os.OpenFile(w.at(name), os.O_WRONLY, 0)
	w.check(err)
	_, err = f.WriteString(text)
	w.check(err)
	w.check(f.Close())
	w.check(os.Chtimes(w.at(name), time.Time{}, info.ModTime()))
}

// mustLeave undoes the last session, and requires that it leaves a path for a reason.
func (w *world) mustLeave(name, why string) {
	w.t.Helper()
	w.mustLeaveInCall(0, name, why)
}

func (w *world) mustLeaveInCall(call int, name, why string) {
	w.t.Helper()
	r, out, _ := w.undo(w.session(), call)
	for _, o := range out {
		if o.Path == w.at(name) {
			w.t.Errorf("%s was not left: %+v", name, o)
		}
	}
	for _, s := range Refused(r.Steps) {
		if s.Path == w.at(name) && strings.Contains(s.Why, why) {
			return
		}
	}
	w.t.Errorf("%s is not named with %q: %s", name, why, said(r, out))
}

func (w *world) mustHaveMode(name string, want os.FileMode) {
	w.t.Helper()
	if info, err := os.Stat(w.at(name)); err != nil || info.Mode() != want {
		w.t.Errorf("%s: %v, mode %v, want %v", name, err, info.Mode(), want)
	}
}

// TestUndoSetsNoSetID tests that undo gives no file its set-id bits back, names the file, and takes
// these bits from no file that still has them.
func TestUndoSetsNoSetID(t *testing.T) {
	const before = 0o755 | os.ModeSetuid
	for name, c := range map[string]struct {
		server func(w *world)
		mode   os.FileMode
		named  string
	}{
		"taken away":   {func(w *world) { w.chmod("d0/f0", 0o755) }, 0o755, "undo sets no set-user-ID"},
		"written":      {func(w *world) { w.write("d0/f0", "server", os.O_TRUNC) }, 0o755, "undo sets no set-user-ID"},
		"replaced":     {func(w *world) { w.write("d0/t", "x", 0); w.check(w.rename("d0/t", "d0/f0", 0)) }, 0o755, "undo sets no set-user-ID"},
		"times":        {func(w *world) { w.times("d0/f0") }, before, ""},
		"only renamed": {func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) }, before, ""},
		"two renamed":  {func(w *world) { w.check(w.rename("d0/f0", "d0/f2", unix.RENAME_EXCHANGE)) }, before, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			w.check(os.Chmod(w.at("d0/f0"), before))
			w.begin()
			c.server(w)
			w.end()
			r, out, _ := w.undo(w.session(), 0)
			text := said(r, out)
			for _, s := range r.Steps {
				text += s.Partly
			}
			if strings.Contains(text, c.named) != true || c.named == "" && text != "" {
				t.Errorf("the undo said %q", text)
			}
			w.mustHave("d0/f0", "file 0 of d0")
			w.mustHaveMode("d0/f0", c.mode)
			if c.named != "" {
				w.mustLeave("d0/f0", c.named) // the next undo says so again
				w.check(os.Chmod(w.at("d0/f0"), before))
			}
			again, err := NewRestorer(w.session(), Selection{})
			w.check(err)
			if len(again.Steps) > 0 {
				t.Errorf("with the bits there is something left to do: %+v", again.Steps)
			}
		})
	}
}

// TestFullJournalProvesNothing tests that undo calls no file done whose content can be the server's,
// once the journal is full or damaged. The control is a journal that is not.
func TestFullJournalProvesNothing(t *testing.T) {
	flood := func(w *world) {
		w.keeper.TotalBytes, w.keeper.Tell = 1<<20, func(string) {}
		for range 10000 {
			w.name("d3/sub", false)
			w.keeper.NotMade(w.at("d3/sub"))
		}
	}
	damage := func(w *world) { w.check(w.files.Journal.Chmod(journal.DamagedMode)) }
	for name, c := range map[string]struct {
		server func(w *world)
		now    string // where the file is
		before os.FileMode
	}{
		"set-id":                   {func(w *world) { w.chmod("d0/f0", 0o755) }, "d0/f0", 0o755 | os.ModeSetuid},
		"a mode":                   {func(w *world) { w.chmod("d0/f0", 0o755) }, "d0/f0", 0o640},
		"there and back":           {func(w *world) { w.chmod("d0/f0", 0o755); w.chmod("d0/f0", 0o640) }, "d0/f0", 0o640},
		"moved":                    {func(w *world) { w.check(w.rename("d0/f0", "d0/g", 0)) }, "d0/g", 0o640},
		"moved with its directory": {func(w *world) { w.check(w.rename("d0", "e", 0)) }, "e/f0", 0o640},
	} {
		for why, lose := range map[string]func(w *world){"full": flood, "damaged": damage, "": nil} {
			t.Run(name+" "+why, func(t *testing.T) {
				w := filled(t)
				w.check(os.Chmod(w.at("d0/f0"), c.before))
				w.begin()
				settled := w.sweeps()
				c.server(w)
				settled()
				if lose == nil {
					w.end()
					w.undo(w.session(), 0)
					w.mustHave("d0/f0", "file 0 of d0")
					w.mustHaveMode("d0/f0", c.before&0o777)
					return
				}
				lose(w)
				w.unseen(c.now, "the server's")
				w.end()
				w.mustLeave("d0/f0", "not known that it is still the same")
				w.mustHave(c.now, "the server's")
			})
		}
	}
}

// TestFullJournalLeavesPending tests that nothing counts as the server's that was not settled when
// the journal was full.
func TestFullJournalLeavesPending(t *testing.T) {
	w := begun(t)
	w.keeper.JournalBytes, w.keeper.Tell = 2000, func(string) {}
	w.write("d0/f0", "server", os.O_TRUNC)
	for i := range 30 {
		w.name(fmt.Sprint("d0/none", i), false)
	}
	w.check(os.WriteFile(w.at("d0/f0"), []byte("the user's"), 0o644))
	w.end()
	w.mustLeave("d0/f0", "it is not known what the server left there")
	w.mustHave("d0/f0", "the user's")
}

// TestUnchangedByTime tests that undo replaces no file whose inode has changed since the server left
// it, also where its size and its time are the same.
func TestUnchangedByTime(t *testing.T) {
	for name, user := range map[string]func(w *world){
		"written": func(w *world) { w.unseen("d0/f0", "yours!") },
		"mode":    func(w *world) { w.check(os.Chmod(w.at("d0/f0"), 0o600)); w.check(os.Chmod(w.at("d0/f0"), 0o644)) },
		"linked":  func(w *world) { w.check(os.Link(w.at("d0/f0"), w.at("mine"))) },
		"renamed": func(w *world) {
			w.check(os.Rename(w.at("d0/f0"), w.at("x")))
			w.check(os.Rename(w.at("x"), w.at("d0/f0")))
		},
		"attribute": func(w *world) { w.check(unix.Setxattr(w.at("d0/f0"), "user.mine", []byte("x"), 0)) },
		"":          func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f0", "ser", os.O_TRUNC) // in several writes
			w.write("d0/f0", "ver", os.O_APPEND)
			w.end()
			time.Sleep(10 * time.Millisecond)
			user(w)
			if name == "" { // the control
				w.mustUndo(w.session(), 0)
				w.mustHave("d0/f0", "file 0 of d0")
				return
			}
			text, err := os.ReadFile(w.at("d0/f0"))
			w.check(err)
			w.mustLeave("d0/f0", "it may have been changed after the server's last change")
			w.mustHave("d0/f0", string(text))
		})
	}
}

// TestJournalWithoutTime tests a journal that has no time of the inodes: its files are left.
func TestJournalWithoutTime(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	w.end()
	file := w.file(w.session(), 0, journal.JournalSuffix)
	text, err := os.ReadFile(file)
	w.check(err)
	st, err := object.LookPath(w.at("d0/f0"))
	w.check(err)
	old := strings.ReplaceAll(string(text), fmt.Sprintf(" %d ", st.Ctime), " 0 ")
	if old == string(text) {
		t.Fatal("the journal has no such time")
	}
	w.check(os.WriteFile(file, []byte(old), 0o600))
	w.mustLeave("d0/f0", "changed after the server's last change")
	w.mustHave("d0/f0", "server")
}

// TestServersNames tests that the names which a server gives to a file, and takes from it, do not
// make the file count as changed by others: it changes the time under its other names.
func TestServersNames(t *testing.T) {
	for name, server := range map[string]func(w *world, settled func()){
		"a new name": func(w *world, settled func()) {
			w.write("d0/f1", "server", os.O_TRUNC)
			settled()
			w.link("d0/sub/hard", "third")
		},
		"a name less": func(w *world, settled func()) {
			w.write("d0/f1", "server", os.O_TRUNC)
			settled()
			w.remove("d0/sub/hard")
		},
		"written again": func(w *world, settled func()) {
			w.write("d0/f1", "server", os.O_TRUNC)
			settled()
			w.link("d0/sub/hard", "third")
			settled()
			w.write("d0/f1", "again", os.O_TRUNC)
		},
	} {
		for _, sessions := range []int{1, 2} {
			t.Run(fmt.Sprint(name, " ", sessions), func(t *testing.T) {
				w := filled(t)
				before := w.tree()
				var first *Session
				w.begin()
				settled := w.sweeps()
				between := func() {
					settled()
					if sessions > 1 && first == nil {
						w.end()
						first = w.session()
						w.begin()
						settled = w.sweeps()
					}
				}
				server(w, between)
				settled()
				w.end()
				for _, e := range w.session().Events(Selection{}) {
					if e.Others {
						t.Errorf("%s counts as changed by others", e.Path)
					}
				}
				w.mustUndo(w.session(), 0)
				if first != nil {
					w.mustUndo(first, 0)
				}
				w.same("undone", before)
			})
		}
	}
}

// TestUsersUnseenChange tests that a change of the user counts as one, though the size
// and the time of the file stayed.
func TestUsersUnseenChange(t *testing.T) {
	w := begun(t)
	settled := w.sweeps()
	w.write("d0/f0", "server", os.O_TRUNC)
	settled()
	w.unseen("d0/f0", "yours!")
	w.write("d0/f0", "server again", os.O_TRUNC)
	settled()
	w.end()
	if events := w.session().Events(Selection{}); len(events) != 1 || !events[0].Others {
		t.Errorf("%+v", events)
	}
	w.mustUndo(w.session(), 0)
	w.mustHave("d0/f0", "file 0 of d0")
}

// TestAttributesOfReplaced tests which attributes of a file go to the one that replaces it.
func TestAttributesOfReplaced(t *testing.T) {
	capability := []byte("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	has := func(w *world, attr string) bool {
		_, err := unix.Getxattr(w.at("d0/f0"), attr, make([]byte, 100))
		return err == nil
	}
	for name, replace := range map[string]bool{"the same file": false, "a file of the server's": true} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			set := func(attr string, value []byte) { w.check(unix.Setxattr(w.at("d0/f0"), attr, value, 0)) }
			w.begin()
			if replace {
				w.write("d0/t", "server", 0)
				w.check(w.rename("d0/t", "d0/f0", 0))
			} else {
				w.write("d0/f0", "server", os.O_TRUNC)
			}
			set("user.note", []byte("x"))
			if os.Geteuid() == 0 { // nobody else can
				set("security.capability", capability)
			}
			w.end()
			w.mustUndo(w.session(), 0)
			w.mustHave("d0/f0", "file 0 of d0")
			if has(w, "user.note") == replace {
				t.Errorf("user.note is there: %v", !replace)
			}
			if has(w, "security.capability") {
				t.Error("the file got a capability")
			}
		})
	}
}
