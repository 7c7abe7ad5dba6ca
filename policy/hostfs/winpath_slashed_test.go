package hostfs

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWithinWindows: a directory holds itself and what is below it, in every spelling, and no neighbour.
func TestWithinWindows(t *testing.T) {
	for _, row := range testkit.Rows(t, "within.txt", 3) {
		path, dir, want := row[0], row[1], row[2] == "true"
		if WithinWindows(path, dir) != want {
			t.Errorf("%s in %s: want %t", path, dir, want)
		}
	}
}

// TestSlashed: the form with slashes, and the way back for paths of a drive.
func TestSlashed(t *testing.T) {
	for _, row := range testkit.Rows(t, "slashed.txt", 3) {
		p, want := row[0], row[1:]
		got := Slashed(p)
		back, _ := fromSlashed(got)
		if got != want[0] || back != want[1] {
			t.Errorf("%s: %q and %q, want %q", p, got, back, want)
		}
		if again := Slashed(got); again != got {
			t.Errorf("%s: %q the second time, want %q", p, again, got)
		}
	}
	for _, p := range []string{"", "/", "/c", "/1:/a", "/C:a", "C:/a", "//C:/a"} {
		if got, ok := fromSlashed(p); ok {
			t.Errorf("%s: %s", p, got)
		}
	}
}
