package resolve

import (
	"testing"
)

// A grant below a mask still has what is granted above the mask.
func TestConflictBelowMask(t *testing.T) {
	// A mask in between does not reset what Landlock adds up.
	if _, _, err := resolveFake(t, newFake(aSystem, "d /home/u/proj/a/b"), fsRules(".:rw", "a:", "a/b:rc")); err == nil {
		t.Error("a grant below a mask forgot the grant above it")
	}
	if _, _, err := resolveFake(t, newFake(aSystem, "d /home/u/proj/a/b/c"), fsRules(".:r", "a:rd", "a/b:", "a/b/c:rc")); err == nil {
		t.Error("only the widest grant was asked")
	}
	// Adding back below a read-only part is fine.
	mustResolve(t, newFake(aSystem, "d /home/u/proj/a/b/c"), fsRules(".:rw", "a:r", "a/b:rw", "a/b/c:"))
}
