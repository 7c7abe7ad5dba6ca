package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOfLauncher tests which paths are in a launcher's cache.
func TestOfLauncher(t *testing.T) {
	for path, want := range testkit.Named[bool](t, "programs.txt") {
		if got := InLauncherCache(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestIsBuild: a program in the bin directory of a clone is a build of it.
func TestIsBuild(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bin", "mcp-jail")
	testkit.Must(t, os.Mkdir(filepath.Dir(path), 0o700))
	if isBuild(path) {
		t.Error("without sources")
	}
	testkit.WriteFile(t, filepath.Join(dir, "go.mod"), "module x\n")
	if !isBuild(path) {
		t.Error("beside sources")
	}
}
