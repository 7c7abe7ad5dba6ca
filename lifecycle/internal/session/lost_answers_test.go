package session

import (
	"testing"
	"testing/synctest"
	"time"
)

type endingProcess struct {
	Process
	done chan struct{}
}

func (p endingProcess) Done() <-chan struct{} { return p.done }

// TestWaitForSilence: a process that still writes is not silent, and its end is no silence.
func TestWaitForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Server{Client: &Client{Times: Times{Silence: time.Second}}}
		proc := endingProcess{done: make(chan struct{})}
		began := time.Now()
		go func() {
			for range 5 {
				time.Sleep(900 * time.Millisecond)
				s.Heard()
			}
		}()
		if silent, took := s.waitForSilence(proc), time.Since(began); !silent || took < 5500*time.Millisecond {
			t.Errorf("silent: %v, after %v", silent, took)
		}
		time.AfterFunc(time.Second/2, func() { close(proc.done) })
		if s.waitForSilence(proc) {
			t.Error("a process that has ended is silent")
		}
	})
}
