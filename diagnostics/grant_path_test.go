package diagnostics

import (
	"strings"
	"testing"
)

// TestDirectoryAboveUnprotected checks that a directory does not count as a protected name
// because a protected name could be created in it.
func TestDirectoryAboveUnprotected(t *testing.T) {
	ev := evidence("EROFS: read-only file system, open '/home/u/work/src/x.rs'")
	ev.Profile.Unprotected = append(ev.Profile.Unprotected, "/home/u/work/src/gen/.vscode")
	if d := Diagnose(ev); len(d.Grant) == 0 || strings.Contains(d.Text(), "protected name") {
		t.Errorf("%s", d.Text())
	}
}
