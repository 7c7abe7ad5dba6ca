package handover_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/egress/handover"
)

// TestFind: the program is taken from where the server cannot write only.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	os.Mkdir(a, 0o755)
	os.Mkdir(b, 0o755)
	nothing := func(string) bool { return false }
	self := filepath.Join(a, "mcp-jail")
	if _, err := handover.Find(self, b, nothing); !errors.Is(err, handover.ErrMissing) {
		t.Errorf("%v", err)
	}
	make := func(dir string, mode os.FileMode) string {
		file := filepath.Join(dir, handover.Name)
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	inPath := make(b, 0o755)
	if got, err := handover.Find(self, "relative:"+b, nothing); got != inPath || err != nil {
		t.Errorf("%s %v", got, err)
	}
	beside := make(a, 0o755)
	if got, err := handover.Find(self, b, nothing); got != beside || err != nil {
		t.Errorf("%s %v", got, err)
	}
	for _, c := range []struct {
		shut   string
		refuse bool
	}{{beside, true}, {a, false}, {dir, false}} {
		got, err := handover.Find(self, b, func(p string) bool { return p == c.shut })
		if c.refuse != (err != nil) || err != nil && !strings.Contains(err.Error(), "write to "+c.shut) {
			t.Errorf("%s can be written to: %s %v", c.shut, got, err)
		}
	}
	os.Chmod(beside, 0o644)
	for _, shut := range []string{inPath, b, dir} {
		if got, err := handover.Find(self, b, func(p string) bool { return p == shut }); err == nil || !strings.Contains(err.Error(), "write to "+shut) {
			t.Errorf("%s can be written to: %s %v", shut, got, err)
		}
	}
	if got, err := handover.Find(self, b, nothing); got != inPath || err != nil {
		t.Errorf("not executable: %s %v", got, err)
	}
}
