package policy

import (
	"testing"
)

func TestUnenforceableRights(t *testing.T) {
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
