package undo

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"golang.org/x/sys/unix"
)

// tooLarge makes a file of which the keeper keeps no content.
func (w *world) tooLarge(name string) {
	w.check(os.WriteFile(w.at(name), []byte(strings.Repeat("user", 100)), 0o644))
	w.keeper.FileBytes, w.keeper.Tell = 100, func(string) {}
}

// TestLostContentIsNamed tests that undo names each file that a server may have written and whose
// content was not kept. The control is a file that was opened for writing and not written.
func TestLostContentIsNamed(t *testing.T) {
	server := strings.Repeat("evil", 100)
	for name, c := range map[string]struct {
		server func(w *world)
		named  bool
	}{
		"with its time": {func(w *world) { w.write("d0/f0", "", 0); w.unseen("d0/f0", server) }, true},
		"and an attribute by another name": {func(w *world) {
			w.write("d0/f0", "", 0)
			w.unseen("d0/f0", server)
			w.chmod("d0/other", 0o600)
			w.chmod("d0/other", 0o644)
		}, true},
		"and small in the next call": {func(w *world) {
			w.nextCall(1)
			w.write("d0/f0", "small", os.O_TRUNC)
			w.nextCall(2)
			w.write("d0/f0", "again", os.O_TRUNC)
		}, true},
		"not written": {func(w *world) { w.write("d0/f0", "", 0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.tooLarge("d0/f0")
			w.check(os.Link(w.at("d0/f0"), w.at("d0/other")))
			before := w.tree()
			c.server(w)
			w.end()
			after, err := os.ReadFile(w.at("d0/f0"))
			w.check(err)
			if events := w.session().Events(Selection{}); (len(events) > 0) != c.named {
				t.Errorf("what changed: %+v", events)
			}
			if !c.named {
				w.mustUndo(w.session(), 0)
				w.same("undone", before)
				return
			}
			w.mustLeave("d0/f0", "its content was not kept: it has 1 KB")
			w.mustHave("d0/f0", string(after))
		})
	}
}

// TestContentHasItsSize tests that undo puts back the whole content of a file that its user has
// changed between the first change of its attributes and the first one of its content.
func TestContentHasItsSize(t *testing.T) {
	for _, users := range []string{"short", "a text of the user's that is longer"} {
		w := begun(t)
		settled := w.sweeps()
		w.chmod("d0/f0", 0o600)
		settled()
		w.check(os.WriteFile(w.at("d0/f0"), []byte(users), 0))
		before := w.tree()
		w.write("d0/f0", "server", os.O_TRUNC)
		settled()
		w.end()
		w.undo(w.session(), 0)
		w.check(os.Chmod(w.at("d0/f0"), 0o600))
		w.same("undone", before)
	}
}

// TestChangesNamesHidden tests that a server cannot hide a change of a file from Events by giving it
// its size and time.
func TestChangesNamesHidden(t *testing.T) {
	for name, server := range map[string]func(w *world){
		"written": func(w *world) { w.write("d0/f0", "", 0); w.unseen("d0/f0", "the server's") },
		"replaced": func(w *world) {
			info, err := os.Stat(w.at("d0/f0"))
			w.check(err)
			w.write("d0/t", "the server's", 0)
			w.check(w.rename("d0/t", "d0/f0", 0))
			w.check(os.Chtimes(w.at("d0/f0"), info.ModTime(), info.ModTime()))
		},
		"": func(w *world) { w.write("d0/f0", "", 0) },
	} {
		w := begun(t)
		server(w)
		w.end()
		var changed bool
		for _, e := range w.session().Events(Selection{}) {
			changed = changed || e.Path == w.at("d0/f0") && e.Operation == Changed
		}
		if changed != (name != "") {
			t.Errorf("%s: %+v", name, w.session().Events(Selection{}))
		}
	}
}

// TestAccessListOfOthers tests that undo gives nothing an access list that a server has chosen for
// it: neither by the directory, nor by a file of the server's with the same content.
func TestAccessListOfOthers(t *testing.T) {
	for name, server := range map[string]func(w *world, list []byte){
		"of the directory": func(w *world, list []byte) {
			w.remove("d0/f0")
			w.check(unix.Setxattr(w.at("d0"), "system.posix_acl_default", list, 0))
		},
		"of the directory above": func(w *world, list []byte) {
			w.check(w.rename("d0", "e", 0))
			w.remove("e/f0")
			w.check(unix.Setxattr(w.root, "system.posix_acl_default", list, 0))
		},
		"of a copy": func(w *world, list []byte) {
			w.remove("d0/f0")
			w.write("d0/f0", "file 0 of d0", 0)
			w.check(unix.Setxattr(w.at("d0/f0"), "system.posix_acl_access", list, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.check(os.Chmod(w.at("d0/f0"), 0o660))
			server(w, accessList(1234))
			w.end()
			w.mustUndo(w.session(), 0)
			w.mustHave("d0/f0", "file 0 of d0")
			for _, path := range []string{"d0", "d0/f0"} {
				if n, err := unix.Getxattr(w.at(path), "system.posix_acl_access", make([]byte, 100)); err == nil {
					t.Errorf("%s has an access list of %d bytes", path, n)
				}
			}
		})
	}
}

// accessList returns an access list that lets a user read and write.
func accessList(user uint32) (list []byte) {
	list = binary.LittleEndian.AppendUint32(list, 2)
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 6, user}, {4, 0, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

// TestUsersDirectoryKeepsMode tests that undo sets no mode of a directory that its user has made in
// the place of one that the server had removed. The control is one that the server has made.
func TestUsersDirectoryKeepsMode(t *testing.T) {
	for name, users := range map[string]bool{"the user's": true, "the server's": false} {
		t.Run(name, func(t *testing.T) {
			w := filled(t)
			w.check(os.Chmod(w.at("d0/sub"), 0o777))
			w.begin()
			w.remove("d0/sub/hard")
			w.remove("d0/sub/deep")
			w.rmdir("d0/sub")
			if !users {
				w.mkdir("d0/sub")
			}
			w.end()
			if !users {
				w.mustUndo(w.session(), 0)
				w.mustHaveMode("d0/sub", os.ModeDir|0o777)
				return
			}
			w.check(os.Mkdir(w.at("d0/sub"), 0o700))
			w.mustLeave("d0/sub", "it was made after the server had removed it")
			w.mustHaveMode("d0/sub", os.ModeDir|0o700)
			w.mustHave("d0/sub/deep", "deep d0")
		})
	}
}

// TestClockSetBack tests that a change after a session was killed is not taken for the server's
// because the clock was set back meanwhile.
func TestClockSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		start, alive time.Duration // by which the start and the last sign of the session lie ahead
		named        bool
	}{
		"before the session":   {10 * time.Second, 0, true},
		"before its last sign": {0, time.Hour, true},
		"":                     {0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(t)
			w.write("d0/f0", "server", os.O_TRUNC)
			w.check(w.rename("d1", "e", 0))
			w.files.Journal.Close()
			w.writer.Close()
			file := w.file(w.session(), 0, journal.JournalSuffix)
			text, err := os.ReadFile(file)
			w.check(err)
			_, rest, _ := strings.Cut(string(text), "\n")
			s := w.session()
			r := &Record{Word: journal.WordHead, At: s.Started.UnixNano() + int64(c.start), Head: &s.Head}
			w.check(os.WriteFile(file, append(r.Append(nil), rest...), 0o600))
			sign := time.Now().Add(c.alive)
			w.check(os.Chtimes(file, sign, sign))
			if !c.named {
				w.mustUndo(w.session(), 0)
				w.mustHave("d0/f0", "file 0 of d0")
				w.mustHave("d1/f0", "file 0 of d1")
				return
			}
			w.mustLeave("d0/f0", "the clock was set back")
			w.mustHave("d0/f0", "server")
			if c.alive == 0 { // what only moved with its directory is from before the session
				w.mustHave("d1/f0", "file 0 of d1")
			}
		})
	}
}

// TestOtherKinds tests that undo puts back the mode of a FIFO, and names one that is another one now.
func TestOtherKinds(t *testing.T) {
	for name, replaced := range map[string]bool{"the same": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.check(unix.Mkfifo(w.at("p"), 0o600))
			w.begin()
			if replaced {
				w.remove("p")
				w.name("p", false)
				w.check(unix.Mkfifo(w.at("p"), 0o600))
			} else {
				w.chmod("p", 0o644)
			}
			w.end()
			if replaced {
				w.mustLeave("p", "which undo does not make")
				return
			}
			w.mustUndo(w.session(), 0)
			w.mustHaveMode("p", os.ModeNamedPipe|0o600)
		})
	}
}
