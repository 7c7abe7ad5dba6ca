package lifecycle

import "sync"

// event is something that happens once.
type event struct {
	once sync.Once
	done chan struct{}
}

func (f *event) set() { f.once.Do(func() { close(f.done) }) }

func (f *event) isSet() bool { return isClosed(f.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
