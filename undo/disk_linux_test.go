package undo

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"golang.org/x/sys/unix"
)

// onSmallDisk moves the store of a world to a filesystem of its own. It returns a function that
// fills this filesystem but for free bytes. With more space, the function makes room again.
func (w *world) onSmallDisk() (leave func(free int64)) {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("only root can mount a filesystem")
	}
	runtime.LockOSThread() // the thread ends with the test, and its mounts with it
	w.check(unix.Unshare(unix.CLONE_NEWNS))
	w.check(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	dir := w.t.TempDir()
	w.check(unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	w.t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	w.store = Store{Dir: filepath.Join(dir, "store")}
	filler := filepath.Join(dir, "filler")
	return func(free int64) {
		os.Remove(filler)
		var st unix.Statfs_t
		w.check(unix.Statfs(dir, &st))
		if size := int64(st.Bavail)*st.Bsize - free; size > 0 {
			w.check(os.WriteFile(filler, make([]byte, size), 0o600))
		}
	}
}

// TestFullDisk tests a disk without space: some records are not written, or only a part of them.
// The others are read all the same, and the session says that some are missing.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	leave := w.onSmallDisk()
	w.fill()
	before := w.tree()
	w.begin()
	w.keeper.Tell = func(string) {}
	w.write("d0/f0", "server", os.O_TRUNC)
	leave(0)
	for i := range 200 { // the last that fits ends in the middle of a line
		w.name("d0/none"+strings.Repeat("x", i), false)
	}
	info, err := w.files.Journal.Stat()
	w.check(err)
	if info.Size()%4096 != 0 {
		t.Fatalf("no write was cut short: %d", info.Size())
	}
	w.write("d0/f2", "not on record", os.O_TRUNC)
	leave(1 << 20)
	w.write("d0/f2", "on record", os.O_TRUNC)
	w.write("d0/f3", "server", os.O_TRUNC)
	w.end()
	s := w.session()
	if len(s.Gaps) == 0 {
		t.Error("it is not said that something is missing")
	}
	r, _, _ := w.undo(s, 0)
	refused := Refused(r.Steps)
	if len(refused) != 1 {
		t.Errorf("%d are refused", len(refused))
	}
	for _, step := range refused {
		if !strings.HasSuffix(step.Path, "/d0/f2") || !strings.Contains(step.Why, "not on record") {
			t.Errorf("refused: %s: %s", step.Path, step.Why)
		}
	}
	for line := range strings.Lines(diffLines(before, w.tree())) {
		if len(line) > 3 && !strings.Contains(line, "d0/f2 ") {
			t.Errorf("it should be as it was: %s", line)
		}
	}
}

// TestTornLast tests that records are read which follow a line that was cut short.
func TestTornLast(t *testing.T) {
	w := begun(t)
	w.write("d0/f0", "server", os.O_TRUNC)
	_, err := w.files.Journal.WriteString(`was 1 "/to`)
	w.check(err)
	w.end()
	if s := w.session(); !s.Ended || len(s.Gaps) != 1 || !s.History(Selection{}).Changes[0].Known {
		t.Errorf("ended: %v, gaps: %v", s.Ended, s.Gaps)
	}
}

// TestFailedCopy tests that bytes of a failed copy, which are still in the data file, do not get
// into the holes of the next file.
func TestFailedCopy(t *testing.T) {
	w := newWorld(t)
	leave := w.onSmallDisk()
	w.check(os.WriteFile(w.at("dense"), []byte(strings.Repeat("dense", 40<<10)), 0o644))
	f, err := os.Create(w.at("sparse"))
	w.check(err)
	_, err = f.WriteAt([]byte("end"), 300<<10)
	w.check(err)
	w.check(f.Close())
	before, err := os.ReadFile(w.at("sparse"))
	w.check(err)
	w.begin()
	lost := ""
	w.keeper.Tell = func(text string) { lost += text }
	leave(100 << 10)
	w.write("dense", "x", os.O_TRUNC)
	if !strings.Contains(lost, "no space left") {
		t.Fatalf("the copy did not fail: %q", lost)
	}
	leave(1 << 20)
	w.write("sparse", "x", os.O_TRUNC)
	w.end()
	w.undo(w.session(), 0)
	if after, err := os.ReadFile(w.at("sparse")); err != nil || string(after) != string(before) {
		t.Errorf("%v; the holes are not zero: %.20q", err, strings.Trim(string(after), "\x00"))
	}
}

// TestJournalIsBounded tests that a server that changes too much does not make the journal ever
// longer, and that the session says that not everything was kept.
func TestJournalIsBounded(t *testing.T) {
	w := begun(t)
	told := ""
	w.keeper.TotalBytes, w.keeper.Tell = 1<<20, func(text string) { told += text }
	settled := w.sweeps()
	w.write("d0/f0", "server", os.O_TRUNC)
	settled()
	for range 10000 {
		w.name("d0/sub", false)
		w.keeper.NotMade(w.at("d0/sub")) // no longer pending
	}
	w.write("d0/f2", "server", os.O_TRUNC)
	w.end()
	s := w.session()
	info, err := os.Stat(w.file(s, 0, journal.JournalSuffix))
	w.check(err)
	if info.Size() > 1<<17+1024 {
		t.Errorf("it has %d bytes", info.Size())
	}
	if len(s.Gaps) != 1 || !strings.Contains(told, "no more is kept") {
		t.Errorf("gaps %+v, told %q", s.Gaps, told)
	}
	w.mustUndo(s, 0)
	for name, want := range map[string]string{"d0/f0": "file 0 of d0", "d0/f2": "server"} {
		if text, _ := os.ReadFile(w.at(name)); string(text) != want {
			t.Errorf("%s has %q", name, text)
		}
	}
}
