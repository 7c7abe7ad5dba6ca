package places

import (
	"slices"
	"testing"
)

// TestBuiltinSensitive checks that what programs keep in files of the home directory is hidden on each system, and
// what only macOS has on macOS alone.
func TestBuiltinSensitive(t *testing.T) {
	for _, c := range []struct {
		path  string
		linux bool
	}{{"~/.ssh", true}, {"~/.claude.json", true}, {"~/.mcp-auth", true}, {"~/.pgpass", true}, {"~/Library/Keychains", false}} {
		if got := slices.Contains(builtinSensitive("linux"), c.path); got != c.linux {
			t.Errorf("%s on Linux: %v", c.path, got)
		}
		if !slices.Contains(builtinSensitive("darwin"), c.path) {
			t.Errorf("%s is not hidden on macOS", c.path)
		}
	}
}
