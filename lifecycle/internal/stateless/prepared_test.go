package stateless

import (
	"testing"
	"time"
)

// TestPrepared: as many jails are prepared as calls have waited at once, not during calls, and not for long.
func TestPrepared(t *testing.T) {
	var s prepared
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		what  string
		calls []int
		after time.Duration
		n     int
		ok    bool
	}{
		{"no call yet", nil, 0, 0, true},
		{"three at once", []int{1, 2, 3}, 0, 3, false},
		{"soon after them", nil, preparedAfter, 3, true},
		{"one more call", []int{1}, preparedAfter, 3, true},
		{"long after it", nil, preparedFor, 0, true},
		{"one call later", []int{1}, preparedAfter, 1, true},
	} {
		for _, n := range c.calls {
			s.note(n, at)
		}
		at = at.Add(c.after)
		if n, ok := s.wanted(at); n != c.n && ok || ok != c.ok {
			t.Errorf("%s: %d %t, want %d %t", c.what, n, ok, c.n, c.ok)
		}
		at = at.Add(time.Millisecond)
	}
}
