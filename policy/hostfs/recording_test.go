package hostfs

import (
	"io/fs"
	"sync"
	"testing"
	"time"
)

// TestRecordingOfDirs: while the state of a directory is the same, its listing and its missing names are not asked
// for again. Another state has all of them asked for. The control is a host whose states are not certain.
func TestRecordingOfDirs(t *testing.T) {
	for _, certain := range []bool{true, false} {
		state, asked := DirState{Changed: 1}, 0
		h := Host{
			DirState: func(_ string, first bool) (DirState, bool) { return state, certain || !first },
			ReadDir:  func(string) ([]DirEntry, error) { asked++; return nil, nil },
			Lstat:    func(string) (FileInfo, error) { asked++; return FileInfo{}, fs.ErrNotExist },
		}
		var r Recording
		through := r.Record(h)
		through.ReadDir("/d")
		through.Lstat("/d/missing")
		for _, c := range []struct {
			change DirState
			want   int
		}{{DirState{Changed: 1}, 0}, {DirState{Changed: 2}, 2}} {
			state, asked = c.change, 0
			want := c.want
			if !certain {
				want = 2
			}
			if !r.Unchanged() || asked != want {
				t.Errorf("certain %t, state %+v: %d questions, want %d", certain, c.change, asked, want)
			}
		}
	}
}

// TestRecordingFirstState: an answer from before the state of its directory was recorded is asked for again.
func TestRecordingFirstState(t *testing.T) {
	answers := []error{fs.ErrNotExist, nil}
	h := Host{
		DirState: func(string, bool) (DirState, bool) { return DirState{}, true },
		Lstat: func(string) (info FileInfo, err error) {
			err, answers = answers[0], answers[1:]
			return info, err
		},
	}
	var r Recording
	if _, err := r.Record(h).Lstat("/d/made-meanwhile"); err != nil {
		t.Errorf("%v: the answer is older than the state of its directory", err)
	}
}

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
