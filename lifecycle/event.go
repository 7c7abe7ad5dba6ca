package lifecycle

import "sync"

// event is something that happens once.
type event struct {
	once sync.Once
	done chan struct{}
}

func (e *event) set() { e.once.Do(func() { close(e.done) }) }

func (e *event) isSet() bool { return isClosed(e.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
