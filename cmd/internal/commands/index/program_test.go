package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOfLauncher tests which paths are in a launcher's cache.
func TestOfLauncher(t *testing.T) {
	for path, want := range map[string]bool{
		"/home/u/.npm/_npx/15b07286cbcc3329/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":                                true,
		"/home/u/.cache/pnpm/dlx/1a2b/x/node_modules/.pnpm/@mcp-jail+linux-x64@1.0.0/node_modules/@mcp-jail/bin/mcp-jail": true,
		"/tmp/xfs-0a1b2c/dlx-4711/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":                                          true,
		"/tmp/bunx-1000-mcp-jail@latest/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":                                    true,
		"/home/u/.bun/install/cache/.bunx-1000/mcp-jail@latest/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":             true,
		"/usr/lib/node_modules/mcp-jail/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":                                    false,
		"/home/u/project/node_modules/@mcp-jail/linux-x64/bin/mcp-jail":                                                   false,
		"/usr/bin/mcp-jail":           false,
		"/home/u/npx/bin/mcp-jail":    false,
		"/home/u/bunx-notes/mcp-jail": true, // a copy there does no harm
	} {
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
