package lifecycle

import (
	"sync"
	"sync/atomic"
	"time"
)

// event is something that happens once. done is closed when it has happened.
type event struct {
	once sync.Once
	done chan struct{}
}

func (e *event) set() { e.once.Do(func() { close(e.done) }) }

func (e *event) isSet() bool { return isClosed(e.done) }

// isClosed reports whether c is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// waitOrInterrupt waits for done. When wait has passed it calls interrupt and waits
// another moment. It reports whether done was reached.
func waitOrInterrupt(done <-chan struct{}, wait time.Duration, interrupt func() (restore func())) bool {
	if isClosed(done) {
		return true
	}
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	defer interrupt()()
	select {
	case <-done:
		return true
	case <-time.After(50 * time.Millisecond):
		return false
	}
}

// onceTime is a time that is set once.
type onceTime struct{ at atomic.Pointer[time.Time] }

func (m *onceTime) set() {
	if m.at.Load() == nil {
		now := time.Now()
		m.at.CompareAndSwap(nil, &now)
	}
}
