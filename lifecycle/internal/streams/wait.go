package streams

import "time"

// WaitOrInterrupt calls interrupt unless done is closed, and then waits a moment for done.
func WaitOrInterrupt(done <-chan struct{}, interrupt func() (restore func())) {
	select {
	case <-done:
		return
	default:
	}
	defer interrupt()()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond):
	}
}
