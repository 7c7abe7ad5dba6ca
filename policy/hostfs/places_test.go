package hostfs

import (
	"path/filepath"
	"testing"
)

// TestStandardDirs: mcp-jail's own directories are below the user's on every system.
func TestStandardDirs(t *testing.T) {
	home := t.TempDir()
	h := Host{Home: home}
	dirs := func() []string {
		config, state, cache, data := StandardDirs(&h)
		return []string{config, state, cache, data}
	}
	for i, dir := range dirs() {
		if below, err := filepath.Rel(home, dir); err != nil || !filepath.IsLocal(below) {
			t.Fatal(dir, err)
		}
		variable := []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}[i]
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
