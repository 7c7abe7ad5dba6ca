//go:build unix

package hostfs

import (
	"testing"
)

// TestMapsRoot checks that the root of a user namespace is the root of the host only if it
// is mapped to it.
func TestMapsRoot(t *testing.T) {
	for uidMap, want := range map[string]bool{
		"         0          0 4294967295\n":              true,
		"         0          0          1\n":              true,
		"      1000       1000          1\n":              false,
		"         0       1000          1\n":              false,
		"         0       1000          1\n1 100000 10\n": false,
		"         5          0          3\n":              true,
		"":                                                false,
	} {
		if got := mapsRoot(uidMap); got != want {
			t.Errorf("%q: %v", uidMap, got)
		}
	}
}
