package undo

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStays: what undo leaves as it is, with the reason, and what comes of it when the user names it.
func TestStays(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server func(w *world) // in a call
		after  func(w *world) // by others, after the session
		stays  string         // "path: a part of the reason"
		named  string         // the file's content when it is named; "" stays
	}{
		{"changed since", func(w *world) { w.write("a=server") }, func(w *world) { w.plain("a=user's") }, "a: after the server's last change", "1"},
		{"removed since", func(w *world) { w.write("a=server") }, func(w *world) { w.must(os.Remove(w.at("a"))) }, "a: after the server's last change", "1"},
		{"mode changed since", func(w *world) { w.write("a=server") }, func(w *world) { w.must(os.Chmod(w.at("a"), 0o600)) }, "a: after the server's last change", "1"},
		{"replaced by the same", func(w *world) { w.write("a=server") }, func(w *world) {
			w.must(os.Remove(w.at("a")))
			w.plain("a=server")
		}, "a: after the server's last change", "1"},
		{"the user's hard link", func(w *world) { w.write("a=server") }, func(w *world) { w.must(os.Link(w.at("a"), w.at("z"))) }, "a: 2 names, and all of them would change", "1"},
		{"too large", func(w *world) { w.write("large=server") }, func(w *world) {}, "large: changed without a copy", ""},
		{"too large and moved", func(w *world) { w.move("large", "moved") }, func(w *world) {}, "moved: move it back yourself", ""},
		{"moved, and a new one there", func(w *world) { w.move("a", "moved") }, func(w *world) { w.plain("a=user's") }, "moved: it has what was", ""},
		{"moved and changed, and a new one there", func(w *world) { w.move("a", "moved"); w.write("moved=server") }, func(w *world) { w.plain("a=user's") }, "moved: it has what was", ""},
		{"moved with its directory, and a new one there", func(w *world) { w.move("d", "n") }, func(w *world) { w.plain("d/b=user's") }, "n/b: it has what was", ""},
		{"a FIFO", func(w *world) { w.remove("fifo") }, func(w *world) {}, "fifo: which undo does not make", ""},
		{"a link out", func(w *world) { w.remove("out") }, func(w *world) {}, "out: which undo does not make", ""},
		{"a file in a made directory", func(w *world) { w.write("n/x=server") }, func(w *world) { w.plain("n/own=user's") }, "n: something in it", ""},
		{"a link in the way", func(w *world) { w.remove("d/a") }, func(w *world) {
			w.must(os.Rename(w.at("d"), w.at("elsewhere")))
			w.must(os.Symlink("elsewhere", w.at("d")))
		}, "d/a: is a symbolic link now", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "a=1", "d/a=2", "d/b=3", "large="+strings.Repeat("x", 1<<20+1), "out->/etc/passwd")
			w.must(unix.Mkfifo(w.at("fifo"), 0o600))
			w.begin(false)
			w.calls(func() { tt.server(w) })
			id := w.end()
			tt.after(w)
			before := w.tree(true)
			path, why, _ := strings.Cut(tt.stays, ": ")
			stay, _ := w.undo(id, 0)
			if !strings.Contains(stay[path], why) {
				t.Fatalf("stay: %v, want %s", stay, tt.stays)
			}
			testkit.Equal(t, fmt.Sprintf("%s: …, and was", path), w.tree(true)[path], before[path])
			stay, _ = w.undo(id, 0, path)
			if b, _ := os.ReadFile(w.at(path)); tt.named != "" && (string(b) != tt.named || len(stay) > 0) {
				t.Errorf("named: %q, stay: %v", b, stay)
			}
			if tt.named == "" && stay[path] == "" {
				t.Errorf("named: it does not stay")
			}
		})
	}
}

// TestKilled: what a process has noted before mcp-jail was killed may not be the last that the server did.
func TestKilled(t *testing.T) {
	w := newWorld(t, "a=1")
	w.begin(false)
	w.calls(func() { w.write("a=server") })
	w.leave()
	w.w.unlock() // and no End, as after a kill
	w.plain("a=server, later")
	stay, _ := w.undo(w.w.ID(), 0)
	testkit.Equal(t, "why a stays", stay["a"], "mcp-jail was killed before it was known what the server left")
	w.undo(w.w.ID(), 0, "a")
	testkit.Equal(t, "a, named", testkit.ReadFile(t, w.at("a")), "1")
}

// TestUnnamed: what /proc says of a file whose name is gone is no path. Another name of the file is known.
func TestUnnamed(t *testing.T) {
	w := newWorld(t, "t (deleted)=user's")
	w.begin(false)
	w.calls(func() {
		w.hold("t", "server")
		w.link("t", "u")
		w.remove("t")
		w.must(w.k.Object(int(w.open["t"].Fd()), w.at("t (deleted)")))
	})
	id := w.end()
	s, err := w.store.Session(id)
	w.must(err)
	for _, c := range s.Changes(Selection{}) {
		if c.Path == w.at("t (deleted)") {
			t.Error("a path that the server has not touched is kept")
		}
	}
	w.clean("undo", id)
	testkit.Equal(t, "", fmt.Sprint(keys(w.tree(false))), "[t (deleted)]")
}

// TestRights: undo makes nothing that gives more rights than there were, or than the owner alone has.
func TestRights(t *testing.T) {
	w := newWorld(t, "suid=1", "list=2", "still=3", "bare=4", "d/")
	w.must(unix.Chmod(w.at("suid"), 0o4755))
	list := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 6, 1 << 31}, {2, 6, 1}, {4, 0, 1 << 31}, {16, 6, 1 << 31}, {32, 0, 1 << 31}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		id := e[2]
		if id == 1<<31 { // none
			id = 1<<32 - 1
		}
		list = binary.LittleEndian.AppendUint32(list, id)
	}
	for _, name := range []string{"list", "still", "bare"} {
		if err := unix.Setxattr(w.at(name), "system.posix_acl_access", list, 0); err != nil {
			t.Skipf("no access lists here: %v", err)
		}
	}
	w.must(unix.Setxattr(w.at("d"), "system.posix_acl_default", list, 0))
	w.begin(false)
	w.calls(func() { w.remove("suid"); w.remove("list"); w.write("still=server"); w.chmod("d", 0o700) }, func() {
		w.write("bare=server")
		w.must(unix.Removexattr(w.at("bare"), "system.posix_acl_access"))
	})
	w.clean("undo", w.end())
	for name, want := range map[string]os.FileMode{"suid": 0o755, "list": 0o600, "still": 0o660, "bare": 0o600, "d": os.ModeDir | 0o755} {
		testkit.Equal(t, name, testkit.Get(os.Lstat(w.at(name)))(t).Mode(), want)
	}
	got := make([]byte, 100)
	if n, err := unix.Getxattr(w.at("still"), "system.posix_acl_access", got); err != nil || !bytes.Equal(got[:n], list) {
		t.Errorf("the list of a file that is still there: %v %v", got[:max(n, 0)], err)
	}
	if n, err := unix.Getxattr(w.at("d"), "system.posix_acl_default", got); err != nil || !bytes.Equal(got[:n], list) {
		t.Errorf("the default list of a directory that is still there: %v %v", got[:max(n, 0)], err)
	}
}

// TestSameInode: what is still there gets its content back in place, and open descriptors show it.
func TestSameInode(t *testing.T) {
	w := newWorld(t, "a=1")
	f, err := os.Open(w.at("a"))
	w.must(err)
	defer f.Close()
	w.begin(false)
	w.calls(func() { w.write("a=server's long text") })
	w.clean("undo", w.end())
	b := make([]byte, 10)
	if n, _ := f.ReadAt(b, 0); string(b[:n]) != "1" {
		t.Errorf("the open file has %q", b[:n])
	}
}

// TestRoom: what cannot be kept is not changed, in the session of several processes too, and the store stays
// within its total. What is kept already can be changed again.
func TestRoom(t *testing.T) {
	w := newWorld(t, "x=1")
	random := make([]byte, 300<<10)
	for i := range 20 {
		for j := range random {
			random[j] = byte(rand.Uint32())
		}
		w.must(os.WriteFile(w.at(fmt.Sprint(i)), random, 0o644))
	}
	w.begin(false)
	var said []string
	const total = 4 << 20
	refused := 0
	for jail := range 2 {
		if jail > 0 {
			w.leave()
			w.jail(false)
		}
		w.k.TotalBytes, w.k.Tell = total, func(text string) { said = append(said, text) }
		w.calls(func() {
			for i := range 10 {
				if err := w.keep(fmt.Sprint(10*jail + i)); err == unix.ENOSPC {
					refused++
				} else {
					w.must(err)
					w.must(os.Remove(w.at(fmt.Sprint(10*jail + i))))
				}
			}
		})
	}
	if refused == 0 || len(said) == 0 || !strings.Contains(said[0], "undo_total_mb") {
		t.Errorf("refused %d, said %q", refused, said)
	}
	size := int64(0)
	for _, name := range []string{journalName, dataName} {
		fi, err := os.Stat(filepath.Join(w.w.Dir, name))
		w.must(err)
		size += fi.Size()
	}
	if size > total {
		t.Errorf("the session takes %d bytes", size)
	}
	w.clean("undo", w.end())
	testkit.Equal(t, "files", len(w.tree(false)), 21)
}

// TestJournalFull: a server that names ever new paths is held up before the journal is too long to be read.
func TestJournalFull(t *testing.T) {
	w := newWorld(t)
	w.begin(false)
	w.k.TotalBytes = 1 << 20
	var err error
	w.calls(func() {
		for i := 0; i < 10000 && err == nil; i++ {
			err = w.keep(fmt.Sprint("new", i))
		}
	})
	if err != unix.ENOSPC {
		t.Errorf("error %v", err)
	}
	if fi, err := os.Stat(filepath.Join(w.w.Dir, journalName)); err != nil || fi.Size() > maxJournal(1<<20) {
		t.Errorf("%v %v", fi.Size(), err)
	}
	w.end()
}

// TestDamaged: with a damaged journal everything is asked, and with a damaged content the file stays.
func TestDamaged(t *testing.T) {
	w := newWorld(t, "a=1", "b=2")
	w.begin(false)
	w.calls(func() { w.write("a=server"); w.write("b=server") })
	id := w.end()
	data := filepath.Join(w.store.Dir, id, dataName)
	b, err := os.ReadFile(data)
	w.must(err)
	b[0] ^= 1
	w.must(os.WriteFile(data, b, 0o600))
	if stay, _ := w.undo(id, 0); len(stay) != 1 || !strings.Contains(stay["a"], "is damaged") {
		t.Errorf("stay: %v", stay)
	}
	f, err := os.OpenFile(filepath.Join(w.store.Dir, id, journalName), os.O_WRONLY|os.O_APPEND, 0)
	w.must(err)
	f.WriteString(`{"Path":"`)
	f.Close()
	w.plain("b=3")
	if stay, _ := w.undo(id, 0); !strings.Contains(stay["b"], "damaged") {
		t.Errorf("stay: %v", stay)
	}
}

// TestForbidden: what the policy of now forbids is not made. It may be removed.
func TestForbidden(t *testing.T) {
	w := newWorld(t, "a=1")
	w.begin(false)
	w.calls(func() { w.remove("a"); w.write("b=server") })
	s, err := w.store.Session(w.end())
	w.must(err)
	r := NewRestorer(s, Selection{}, func(path string) string { return "the policy says no to " + filepath.Base(path) })
	if left := Those(r.Steps, Refuse); len(r.Steps) != 2 || len(left) != 1 || left[0].Why != "the policy says no to a" {
		t.Errorf("%+v", r.Steps)
	}
}

// TestOpenOverCalls: what the server writes by a descriptor that it keeps belongs to the call in which it does.
func TestOpenOverCalls(t *testing.T) {
	w := newWorld(t, "db=user's")
	w.begin(true)
	w.calls(func() { w.hold("db", "call 1") })
	w.calls(func() { w.write("other=2") })
	w.calls(func() { w.hold("db", "call 3") })
	id := w.end()
	for call, want := range map[int]string{3: "call 1", 2: "call 1"} {
		if stay, _ := w.undo(id, call); len(stay) > 0 {
			t.Errorf("call %d: %v", call, stay)
		}
		if b, _ := os.ReadFile(w.at("db")); call == 3 && string(b) != want {
			t.Errorf("call %d: %q", call, b)
		}
	}
	w.clean("undo", id)
	if b, _ := os.ReadFile(w.at("db")); string(b) != "user's" {
		t.Errorf("%q", b)
	}
}

// TestWrongOrder: what an undo of an earlier call has put back is not replaced by the state between the calls.
func TestWrongOrder(t *testing.T) {
	w := newWorld(t, "a=user's")
	w.begin(true)
	w.calls(func() { w.write("a=call 1") })
	w.calls(func() { w.write("a=call 2") })
	id := w.end()
	if stay, _ := w.undo(id, 1); !strings.Contains(stay["a"], "by a later call") {
		t.Errorf("stay: %v", stay)
	}
	if stay, _ := w.undo(id, 1, "a"); len(stay) > 0 {
		t.Errorf("stay: %v", stay)
	}
	if stay, _ := w.undo(id, 2); stay["a"] == "" {
		t.Error("call 2 was undone after call 1")
	}
	w.clean("undo", id)
	if b, _ := os.ReadFile(w.at("a")); string(b) != "user's" {
		t.Errorf("%q", b)
	}
}

// TestUnreadable: a file that its owner may not read is kept all the same.
func TestUnreadable(t *testing.T) {
	w := newWorld(t, "a=1")
	w.must(os.Chmod(w.at("a"), 0o200))
	w.begin(false)
	w.calls(func() { w.write("a=server") })
	w.clean("undo", w.end())
	w.must(os.Chmod(w.at("a"), 0o600))
	testkit.Equal(t, "", string(testkit.Get(os.ReadFile(w.at("a")))(t)), "1")
}

// TestStore: sessions that are too old or too many go, the newest and those of another version stay, and a
// session without changes leaves nothing.
func TestStore(t *testing.T) {
	w := newWorld(t, "a=1")
	w.begin(false)
	if w.end(); !w.store.Empty() {
		t.Error("a session without changes has left something")
	}
	var ids []string
	for i := range 3 {
		w.begin(false)
		w.calls(func() { w.write(fmt.Sprint("a=", strings.Repeat("x", 1000+i))) })
		ids = append(ids, w.end())
		time.Sleep(time.Millisecond)
	}
	old := filepath.Join(w.store.Dir, "20200101-000000-0000")
	testkit.Must(t, os.MkdirAll(old, 0o700))
	testkit.Must(t, os.WriteFile(filepath.Join(old, "1.journal"), []byte("mcp-jail-undo-1"), 0o600))
	if _, named, err := w.store.Sessions(); err != nil || len(named) != 1 || named[0] != old {
		t.Errorf("%v %v", named, err)
	}
	if gone := w.store.Expire(time.Hour, 1); len(gone) != 2 || gone[0] != ids[1] || gone[1] != ids[0] {
		t.Errorf("gone: %v", gone)
	}
	testkit.Works(t, "", testkit.ErrorOf(os.Stat(old)))
	testkit.Equal(t, "gone", len(w.store.Expire(0, 1<<40)), 1)
}

// TestList: what undo --list shows.
func TestList(t *testing.T) {
	w := newWorld(t, "a=1\n", "b=2", "large="+strings.Repeat("x", 1<<20+1), "o=1")
	w.begin(true)
	w.calls(func() { w.write("a=server\n"); w.write("new=3"); w.write("large=2"); w.write("same=1"); w.write("o=2") })
	w.plain("o=user's")
	w.calls(func() { w.remove("b"); w.remove("same"); w.write("o=3") })
	s, err := w.store.Session(w.end())
	w.must(err)
	var got []string
	for _, e := range s.Events(Selection{}) {
		got = append(got, fmt.Sprint(e.Operation, " ", filepath.Base(e.Path), e.Calls, " lost ", e.Before.Lost != "", " others ", e.Others != nil))
	}
	if want := "changed a[1] lost false others false; removed b[2] lost false others false; changed large[1] lost true others false; made new[1] lost false others false; changed o[1 2] lost false others true"; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
	if diff := s.Diff(s.Events(Selection{})[0]); !strings.HasSuffix(diff, "-1\n+server\n") {
		t.Errorf("the difference is %q", diff)
	}
}

// TestDiffQuotes: no name looks like lines of a difference.
func TestDiffQuotes(t *testing.T) {
	got := diff("/a\n+++ /etc/passwd\n@@ -1 +1 @@\n-x", []byte("a\n"), []byte("b\n"))
	if n := strings.Count(got, "\n"); n != 5 || !strings.HasPrefix(got, `--- "/a\n+++ `) {
		t.Errorf("%d lines: %s", n, got)
	}
}

// TestManyNames: a file with more names than a process may have descriptors is kept at all of them.
func TestManyNames(t *testing.T) {
	w := newWorld(t, "a=1")
	w.begin(false)
	w.calls(func() {
		for i := range 200 {
			w.link("a", fmt.Sprint("l", i))
		}
	})
	var limit unix.Rlimit
	w.must(unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	w.must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 100, Max: limit.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	w.calls(func() { w.must(w.keep("a")) })
	w.end()
}

// TestReusedInode: a path whose file is gone is no name of the next file with that inode number.
func TestReusedInode(t *testing.T) {
	w := newWorld(t)
	w.begin(false)
	w.calls(func() {
		w.hold("tmp", "x")
		w.remove("tmp")
	})
	if len(w.k.names) > 0 {
		t.Errorf("names: %v", w.k.names)
	}
	w.end()
}

// TestOutOfGrant: undo changes no path that the server could not write.
func TestOutOfGrant(t *testing.T) {
	w := newWorld(t, "../out=1")
	w.begin(false)
	w.calls(func() { w.write("../out=2") })
	id := w.end()
	for _, take := range [][]string{nil, {"../out"}} {
		if stay, _ := w.undo(id, 0, take...); !strings.Contains(stay[w.at("../out")], "where the server could not write") {
			t.Errorf("stay: %v", stay)
		}
	}
}

// TestLinkOut: undo knows a symbolic link out of what the server may write, however it is spelled.
func TestLinkOut(t *testing.T) {
	r := &Restorer{session: &Session{Head: Head{Roots: []string{"/w"}}}}
	for target, want := range map[string]bool{"b": false, "../b": false, "/w/b": false, "../../b": true, "/b": true, "/w/../b": true} {
		if got := r.leadsOut("/w/d/link", target); got != want {
			t.Errorf("%s leads out: %v", target, got)
		}
	}
}

// TestChangedMeanwhile: what the user changes between the comparison and the undo, or during the undo, is the
// user's for the next undo too.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t, "a=1", "gone=2", "other=3", "way/")
	w.begin(false)
	w.calls(func() { w.write("a=server") }, func() { w.write("new=server") }, func() { w.remove("gone") })
	w.calls(func() { w.remove("other") }, func() { w.write("other=server") })
	w.calls(func() { w.remove("way") }, func() { w.write("way=server") })
	id := w.end()
	s, err := w.store.Session(id)
	w.must(err)
	r := NewRestorer(s, Selection{}, func(string) string { return "" })
	w.plain("a=user")
	w.plain("new=user")
	old := moment
	defer func() { moment = old }()
	moment = func() {
		if _, err := os.Lstat(w.at("way")); err != nil {
			w.plain("way=user")
		}
		if names, _ := filepath.Glob(w.at(tempPrefix + "*")); len(names) > 0 {
			w.plain("gone=user")
			w.plain("other=user")
		}
	}
	_, err = r.Run()
	w.must(err)
	moment = old
	for _, step := range r.Steps {
		if step.Err != errChanged {
			t.Errorf("%s: %v", step.Path, step.Err)
		}
	}
	stay, _ := w.undo(id, 0)
	for _, name := range []string{"a", "new", "gone", "other", "way"} {
		if b, _ := os.ReadFile(w.at(name)); string(b) != "user" || !strings.Contains(stay[name], "after the server's last change") {
			t.Errorf("%s has %q: %s", name, b, stay[name])
		}
	}
}
