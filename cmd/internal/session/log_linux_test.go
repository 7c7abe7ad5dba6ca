package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/undo"
)

// TestLogOfLostUndo: changes that undo cannot tell are lines that are missing.
func TestLogOfLostUndo(t *testing.T) {
	dir := t.TempDir()
	k := &keeping{Store: undo.Store{Dir: filepath.Join(dir, "undo"), Base: dir}, Server: "kept", Name: "kept"}
	var err error
	if k.writer, err = k.Store.Begin(undo.Head{Server: "kept"}); err != nil {
		t.Fatal(err)
	}
	defer k.writer.Close()
	for _, row := range []struct {
		failed bool
		want   int
	}{{false, 0}, {true, 1}} {
		l := NewLog(nil)
		k.failed = row.failed
		k.changes(l)
		testkit.Equal(t, "omitted", l.events.Omitted(), row.want)
	}
	testkit.Must(t, os.RemoveAll(filepath.Join(k.writer.Dir, "journal")))
	l := NewLog(nil)
	k.changes(l)
	testkit.Equal(t, "omitted without its journal", l.events.Omitted(), 1)
}
