package sources

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestOfProject tests which files of a project name a registry of its own. No file of the home directory or above
// it counts, and none says anything about the other ecosystem.
func TestOfProject(t *testing.T) {
	for _, row := range testkit.Rows(t, "projects.txt", 4) {
		file, text, npm, want := row[0], row[1], row[2] == "true", row[3]
		home := t.TempDir()
		testkit.Must(t, os.MkdirAll(filepath.Join(home, "p/sub"), 0o700))
		testkit.WriteFile(t, filepath.Join(home, filepath.FromSlash(file)), text)
		host := testkit.Get(hostfs.LocalHost())(t)
		host.Home, host.Dir = home, filepath.Join(home, "p/sub")
		own := OfProject(&host, npm)
		if (own == nil) != (want == "") || own != nil && own.Line != want {
			t.Errorf("%s with %q, npm %v: %+v, want %q", file, text, npm, own, want)
		}
	}
}
