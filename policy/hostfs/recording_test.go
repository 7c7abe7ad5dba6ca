package hostfs

import (
	"io/fs"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
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

// TestRecordingListsAgain: a directory is listed again unless its time of change can tell that its entries are the
// same. A file that appears is noticed in any case.
func TestRecordingListsAgain(t *testing.T) {
	long, now := time.Now().Add(-time.Hour), time.Now()
	for _, c := range []struct {
		name  string
		state FileInfo
		lists int // when nothing has changed
		after time.Time
	}{
		{"a directory", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1, Birth: 1}, Changed: long.UnixNano()}, 0, now},
		{"one that has just changed", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1, Birth: 1}, Changed: now.UnixNano()}, 1, now},
		{"a clock that is ahead", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1, Birth: 1}, Changed: now.Add(time.Hour).UnixNano()}, 1, now.Add(time.Hour)},
		{"a filesystem without births", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1}, Changed: long.UnixNano()}, 1, long},
		{"whole seconds", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1, Birth: 1}, Changed: long.Truncate(time.Second).UnixNano()}, 1, long},
		{"a system that does not say", FileInfo{Mode: fs.ModeDir, ID: policy.FileID{Ino: 1, Birth: 1}}, 1, long},
		{"a link to a directory", FileInfo{Mode: fs.ModeSymlink, ID: policy.FileID{Ino: 1, Birth: 1}, Changed: long.UnixNano()}, 1, long},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, entries, lists := c.state, []DirEntry{{"src", fs.ModeDir}}, 0
			var r Recording
			r.Record(Host{
				Lstat:   func(string) (FileInfo, error) { return state, nil },
				ReadDir: func(string) ([]DirEntry, error) { lists++; return entries, nil },
			}).ReadDir("/work")
			if lists = 0; !r.Unchanged() || lists != c.lists {
				t.Errorf("nothing has changed: it was listed %d times, want %d", lists, c.lists)
			}
			state.Changed = c.after.UnixNano()
			entries = append(entries, DirEntry{".env", 0})
			if r.Unchanged() {
				t.Error("unchanged, although it has .env now")
			}
		})
	}
}

// TestRecordingBelow: a look below some directories sees what changes there, and asks nothing else.
func TestRecordingBelow(t *testing.T) {
	changed := ""
	h := Host{Lstat: func(p string) (FileInfo, error) {
		if p == changed {
			return FileInfo{Mode: 1}, nil
		}
		return FileInfo{}, nil
	}}
	var r Recording
	through := r.Record(h)
	for _, p := range []string{"/usr/bin/node", "/work", "/work/.env", "/works"} {
		through.Lstat(p)
	}
	for _, c := range []struct {
		changed    string
		all, below bool
	}{
		{"", true, true},
		{"/usr/bin/node", false, true},
		{"/works", false, true},
		{"/work", false, false},
		{"/work/.env", false, false},
	} {
		changed = c.changed
		if all, below := r.Unchanged(), r.Unchanged("/work", "/opt"); all != c.all || below != c.below {
			t.Errorf("%q has changed: %v, and %v below /work", path.Base(changed), all, below)
		}
	}
	if r.Unchanged("/opt") {
		t.Error("unchanged, although nothing was asked there")
	}
}
