package undo

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUndoShortData tests that a data file that was cut puts no zeros into a file. Beyond the end of
// the data file, everything looks like a hole.
func TestUndoShortData(t *testing.T) {
	const size = 300_000
	for _, left := range []int64{0, minClone * 2, size - 1, size} {
		w := newWorld(t)
		w.check(os.WriteFile(w.at("f"), []byte(strings.Repeat("A", size)), 0o600))
		w.begin()
		w.write("f", "the server's", os.O_TRUNC)
		w.end()
		s := w.session()
		w.check(os.Truncate(s.file(0, dataSuffix), left))
		_, out, _ := w.undo(s, 0)
		got, err := os.ReadFile(w.at("f"))
		w.check(err)
		switch {
		case left == size && (string(got) != strings.Repeat("A", size) || out[0].Err != nil):
			t.Errorf("the control: %d bytes, %v", len(got), out)
		case left < size && (string(got) != "the server's" || out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "not complete")):
			t.Errorf("with %d bytes of %d: %d bytes, %v", left, size, len(got), out)
		}
	}
}

// TestKeepGrowing tests that a file can grow while it is kept: its data may then begin beyond the
// size that it had.
func TestKeepGrowing(t *testing.T) {
	w := newWorld(t)
	w.begin()
	defer w.end()
	f, err := os.Create(w.at("f"))
	w.check(err)
	defer f.Close()
	w.check(f.Truncate(minClone))
	st, err := lookPath(w.at("f"))
	w.check(err)
	_, err = f.WriteAt([]byte("later"), 1<<20)
	w.check(err)
	if next, err := unix.Seek(int(f.Fd()), 0, unix.SEEK_DATA); err != nil || next < st.Size {
		t.Skipf("the filesystem has no holes: %d, %v", next, err)
	}
	w.keeper.start()
	if err := w.keeper.copyRange(int(f.Fd()), 0, &st); err != nil || st.Size != minClone {
		t.Errorf("%v, %d bytes", err, st.Size)
	}
}
