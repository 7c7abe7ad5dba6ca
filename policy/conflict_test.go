package policy

import "testing"

func TestUnenforceable(t *testing.T) {
	for _, tt := range []struct{ union, rights, want Rights }{
		{Read | Write, 0, 0},
		{Read | Write, Read, 0},
		{AllRights, Read | Write, 0},
		{AllRights, Read | Execute, 0},
		{Read, AllRights, 0},
		{Read | Write, Read | Create | Update, Delete},
		{Read | Write, Write, Read},
		{Read | Execute, Execute, Read},
		{Read | Delete, Read | Create, Delete},
		{Read | Create, Read | Create | Delete, 0},
		{0, Create, 0},
	} {
		if got := unenforceable(tt.union, tt.rights); got != tt.want {
			t.Errorf("unenforceable(%s, %s) = %s, want %s", tt.union, tt.rights, got, tt.want)
		}
	}
}

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
