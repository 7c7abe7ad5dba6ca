package stateless

import (
	"sync"
	"time"
)

const (
	// preparedFor is how long jails are kept prepared after the last call that needed one.
	preparedFor = time.Minute
	// preparedAfter is how long no call must have needed a jail before others are prepared: these would take the
	// processors from calls that are under way.
	preparedAfter = 30 * time.Millisecond
)

// prepared says how many jails to prepare: as many as calls have waited for at once. A session without
// calls has none.
type prepared struct {
	mu   sync.Mutex
	most int
	last time.Time // of a call that needed a jail
}

// note notes that n calls wait for their jails.
func (s *prepared) note(n int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.last = max(s.most, n), now
}

// wanted returns how many jails to prepare. It is too early for any if ok is false.
func (s *prepared) wanted(now time.Time) (n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := now.Sub(s.last)
	if idle > preparedFor {
		s.most = 0
	}
	return s.most, idle >= preparedAfter
}
