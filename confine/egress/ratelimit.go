package egress

import (
	"sync"
	"time"
)

// bucket lets burst things happen, and one more each interval.
type bucket struct {
	burst int
	every time.Duration

	mu   sync.Mutex
	used int
	at   time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if back := int(now.Sub(b.at) / b.every); back > 0 {
		b.used = max(b.used-back, 0)
		b.at = now
	}
	if b.used >= b.burst {
		return false
	}
	b.used++
	return true
}
