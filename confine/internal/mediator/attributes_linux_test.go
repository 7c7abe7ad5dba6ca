package mediator

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnnamed: what has no name is no file of a grant. A file may be named like one that was removed.
func TestUnnamed(t *testing.T) {
	var named, removed unix.Stat_t
	named.Nlink = 1
	for _, c := range []struct {
		full string
		st   *unix.Stat_t
		want bool
	}{
		{"/work/x (deleted)", &removed, true},
		{"/work/x (deleted)", &named, false},
		{"/work/x", &removed, false},
		{"pipe:[1]", &named, true},
		{"/work/pipe:[1]", &named, false},
	} {
		if got := isUnnamed(c.full, c.st); got != c.want {
			t.Errorf("%q with %d links: %v", c.full, c.st.Nlink, got)
		}
	}
}
