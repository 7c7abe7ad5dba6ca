package undo

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
)

// TestUndoSparse tests that holes of a file stay holes in the data file and in the restored file.
func TestUndoSparse(t *testing.T) {
	w := newWorld(t)
	const size = 8 << 20
	f, err := os.Create(w.at("sparse"))
	w.check(err)
	for _, at := range []int64{1 << 20, 5<<20 + 77} {
		_, err = f.WriteAt([]byte("in the middle"), at)
		w.check(err)
	}
	w.check(f.Truncate(size))
	w.check(f.Close())
	before := w.tree()
	w.begin()
	w.write("sparse", "short", os.O_TRUNC)
	w.write("other", "behind it in the data file", 0)
	w.remove("other")
	w.end()
	s := w.session()
	w.mustUndo(s, 0)
	if w.tree() != before { // too long to be shown
		t.Error("it was not put back")
	}
	for _, name := range []string{w.at("sparse"), w.file(s, 0, journal.DataSuffix)} {
		info, err := os.Stat(name)
		w.check(err)
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
			t.Errorf("%s takes %d bytes", name, used)
		}
	}
	if b, err := os.ReadFile(w.at("sparse")); err != nil || len(b) != size || bytes.Count(b, []byte("in the middle")) != 2 {
		t.Errorf("%v, %d bytes", err, len(b))
	}
}
