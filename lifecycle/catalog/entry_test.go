//go:build unix

package catalog

import (
	"testing"
	"time"
)

// TestFresh: the age at which an answer expires.
func TestFresh(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a    Answer
		age  time.Duration
		want bool
	}{
		{Answer{}, 0, true}, {Answer{}, MaxAge - 1, true}, {Answer{}, MaxAge, false}, {Answer{}, -1, false},
		{Answer{TTL: time.Second, HasTTL: true}, time.Second - 1, true}, {Answer{TTL: time.Second, HasTTL: true}, time.Second, false}, {Answer{TTL: time.Second, HasTTL: true}, -time.Hour, false},
		{Answer{HasTTL: true}, 0, false}, {Answer{TTL: -time.Second, HasTTL: true}, 0, false}, {Answer{TTL: 1e18, HasTTL: true}, MaxTTL, false},
	} {
		row.a.Stored = start
		if got := row.a.Fresh(start.Add(row.age)); got != row.want {
			t.Errorf("%+v after %v: %v", row.a, row.age, got)
		}
	}
}
