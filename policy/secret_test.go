package policy

import (
	"strings"
	"testing"
)

// TestPlaceholders checks that no placeholder is part of another. So one can be replaced
// without knowledge of the others.
func TestPlaceholders(t *testing.T) {
	names := []string{"A", "AB", "A_B", "B", "A_placeholder", "secret_A"}
	for _, a := range names {
		for _, b := range names {
			if a != b && strings.Contains(Placeholder(a), Placeholder(b)) {
				t.Errorf("%s is part of %s", Placeholder(b), Placeholder(a))
			}
		}
	}
}
