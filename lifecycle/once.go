package lifecycle

import "sync"

// flag is something that happens once.
type flag struct {
	once sync.Once
	c    chan struct{}
}

func (f *flag) set() { f.once.Do(func() { close(f.c) }) }

func (f *flag) isSet() bool { return isClosed(f.c) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
