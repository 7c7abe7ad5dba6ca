package hostfs

import (
	"io/fs"
	"sync"
	"testing"
	"time"
)

// TestRecordingShared: callers that come while the host is being asked share one look that begins after them, and so
// see what has changed since the first look began.
func TestRecordingShared(t *testing.T) {
	var mu sync.Mutex
	asked, mode := 0, fs.FileMode(0o600)
	begun, goOn := make(chan int, 10), make(chan struct{})
	h := Host{Lstat: func(string) (FileInfo, error) {
		mu.Lock()
		asked++
		n, info := asked, FileInfo{Mode: mode}
		mu.Unlock()
		if n > 1 { // the first is the resolution
			begun <- n
			<-goOn
		}
		return info, nil
	}}
	var r Recording
	r.Record(h).Lstat("/f")
	first, others := make(chan bool), make(chan bool)
	go func() { first <- r.Unchanged() }()
	<-begun
	mu.Lock()
	mode = 0o644
	mu.Unlock()
	const many = 8
	for range many {
		go func() { others <- r.Unchanged() }()
	}
	time.Sleep(50 * time.Millisecond) // most have come
	goOn <- struct{}{}
	if !<-first {
		t.Error("the first look saw a change that was made after it")
	}
	close(goOn)
	for range many {
		if <-others {
			t.Error("a caller got an answer from before its call")
		}
	}
	if asked >= 2+many {
		t.Errorf("the host was asked %d times for %d callers", asked-1, 1+many)
	}
	if r.Unchanged() {
		t.Error("unchanged, although the mode is another one")
	}
}
