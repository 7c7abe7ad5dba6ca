package confine

import (
	"errors"
	"testing"
	"time"
)

// TestLatch: everybody who waits gets the error of the one that closes, whether he comes
// before or after.
func TestLatch(t *testing.T) {
	var l latch
	if l.soon(fewTurns) {
		t.Error("an open latch is closed")
	}
	want := errors.New("for this test")
	got := make(chan error)
	wait := func() { got <- l.wait() }
	go wait()
	go func() {
		for !l.soon(fewTurns) {
		}
		wait()
	}()
	select {
	case err := <-got:
		t.Errorf("somebody did not wait: %v", err)
	case <-time.After(50 * time.Millisecond): // they sleep by now, or will not
	}
	l.close(want)
	go wait()
	for range 3 {
		if err := <-got; err != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
