package hostfs

import (
	"os"
	"testing"
)

// A file that was replaced by one that looks the same is another file.
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
		t.Error("another answer, and nothing has changed")
	}
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if l.Unchanged() {
		t.Error("the same after the file was replaced")
	}
}
