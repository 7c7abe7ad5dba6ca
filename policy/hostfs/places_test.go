package hostfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStandardDirs: mcp-jail's own directories are below the user's on every system, and the page about Windows
// has a row for each.
func TestStandardDirs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "internals", "windows.md"))
	testkit.Must(t, err)
	home := t.TempDir()
	h := Host{Home: home}
	dirs := func() []string {
		config, state, cache, data := StandardDirs(&h)
		return []string{config, state, cache, data}
	}
	for i, dir := range dirs() {
		below, err := filepath.Rel(home, dir)
		if err != nil || !filepath.IsLocal(below) {
			t.Fatal(dir, err)
		}
		variable := []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}[i]
		row := "| `%USERPROFILE%\\" + strings.ReplaceAll(below, string(filepath.Separator), `\`) + "` | `" + variable + "` |"
		if !strings.Contains(string(page), row) {
			t.Errorf("the page has no row that ends with %s", row)
		}
		h.Environ = []string{variable + "=" + filepath.Join(home, "x")}
		if got := dirs()[i]; got != filepath.Join(home, "x", "mcp-jail") {
			t.Errorf("%s: %s", variable, got)
		}
		h.Environ = []string{variable + "=x"}
		if got := dirs()[i]; got != dir {
			t.Errorf("%s is relative: %s", variable, got)
		}
	}
}
