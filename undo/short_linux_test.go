package undo

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TestUndoShortData tests that a data file that was cut puts no zeros into a file. Beyond the end of
// the data file, everything looks like a hole.
func TestUndoShortData(t *testing.T) {
	const size = 300_000
	for _, left := range []int64{0, object.MinClone * 2, size - 1, size} {
		w := newWorld(t)
		w.check(os.WriteFile(w.at("f"), []byte(strings.Repeat("A", size)), 0o600))
		w.begin()
		w.write("f", "the server's", os.O_TRUNC)
		w.end()
		s := w.session()
		w.check(os.Truncate(w.file(s, 0, journal.DataSuffix), left))
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
