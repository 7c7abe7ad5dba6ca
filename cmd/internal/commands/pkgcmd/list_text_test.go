package pkgcmd

import (
	"strings"
	"testing"
)

// TestNothingKept: on Windows alone, it is said that WSL may have servers.
func TestNothingKept(t *testing.T) {
	for system, want := range map[string]bool{"linux": false, "darwin": false, "windows": true} {
		if got := nothingKept(system); strings.Contains(got, "WSL") != want || !strings.HasPrefix(got, "nothing is kept: ") {
			t.Errorf("%s: %s", system, got)
		}
	}
}
