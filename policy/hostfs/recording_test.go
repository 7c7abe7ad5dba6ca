package hostfs

import (
	"os"
	"testing"
)

// TestRecordingReplacedFile checks that a file counts as changed if another file with the
// same content has replaced it.
func TestRecordingReplacedFile(t *testing.T) {
	h, err := LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, other := dir+"/file", dir+"/other"
	for _, name := range []string{file, other} {
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var l Recording
	l.Record(h).Lstat(file)
	if !l.Unchanged() {
		t.Error("changed, although nothing has changed")
	}
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if l.Unchanged() {
		t.Error("unchanged, although the file was replaced")
	}
}
