package clients

import "testing"

// TestFits: rules for directories, as clients of every system write them.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		rule, dir string
		below     bool
		want      bool
	}{
		{"/home/me/", "/home/me", false, true}, {"/home/me", "/home/me/x", false, false}, {"/home/me/", "/home/me/x", true, true}, {"/home/me/", "/home/mex", true, false},
		{"/", "/home", true, true}, {"/", `C:\Users\me`, true, true}, {"/", "/", false, true},
		{"/C:/Users/me/", `C:\Users\me`, false, true}, {"/C:/Users/me/", `C:\Users\me\x`, true, true}, {`C:\Users\me`, `C:\Users\me`, false, true}, {"/C:/Users/me/", `C:\Users\you`, true, false},
	} {
		if got := fits(c.rule, c.below, c.dir); got != c.want {
			t.Errorf("%q, below %t, in %q: %t", c.rule, c.below, c.dir, got)
		}
	}
}
