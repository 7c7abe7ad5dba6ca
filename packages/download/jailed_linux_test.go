package download

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOutside: by hand or as the line of a client, the program would start npm without a jail.
func TestOutside(t *testing.T) {
	if jailed() {
		t.Skip("the tests run with no_new_privs")
	}
	dir := t.TempDir()
	npm, started := filepath.Join(dir, "npm"), filepath.Join(dir, "started")
	testkit.Must(t, os.WriteFile(npm, []byte("#!/bin/sh\ntouch "+started+"\n"), 0o755))
	if status := Main([]string{npm, dir, "a"}); status != 2 {
		t.Errorf("status %d", status)
	}
	if _, err := os.Lstat(started); err == nil {
		t.Error("npm was started")
	}
}
