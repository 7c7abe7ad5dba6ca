package hostfs

import (
	"io/fs"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestRecordingAsksOnce: a question that was asked twice with one answer is asked once again. With two answers it is
// asked twice, and something has changed.
func TestRecordingAsksOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answers   []error
		asked     int
		unchanged bool
	}{
		"one answer":  {[]error{fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist}, 1, true},
		"two answers": {[]error{fs.ErrNotExist, fs.ErrPermission, fs.ErrPermission}, 1, false},
		"the second":  {[]error{fs.ErrPermission, fs.ErrNotExist, fs.ErrPermission, fs.ErrPermission}, 2, false},
	} {
		asked := 0
		h := Host{ReadDir: func(string) ([]DirEntry, error) {
			asked++
			return nil, c.answers[asked-1]
		}}
		var r Recording
		through := r.Record(h)
		through.ReadDir("/d")
		through.ReadDir("/d")
		before := asked
		if got := r.Unchanged(); got != c.unchanged || asked-before != c.asked {
			t.Errorf("%s: unchanged %t, and %d questions", name, got, asked-before)
		}
	}
}

// TestRecordingOfAttributes: the attributes of a directory are in its state. They are asked for again if the state is
// another one, and if it was read when the attributes had changed.
func TestRecordingOfAttributes(t *testing.T) {
	for name, c := range map[string]struct {
		info, later FileInfo // by Lstat
		state, now  DirState
		asked       int
		unchanged   bool
	}{
		"nothing changes":          {info: FileInfo{Mode: 1, UID: 2, GID: 3, Links: 4}, state: DirState{Mode: 1, UID: 2, GID: 3}, now: DirState{Mode: 1, UID: 2, GID: 3}, unchanged: true},
		"the state changes":        {now: DirState{Changed: 1}, asked: 1, unchanged: true},
		"the mode changes":         {now: DirState{Mode: 1, Changed: 1}, later: FileInfo{Mode: 1}, asked: 1},
		"the mode before":          {info: FileInfo{Mode: 1}, asked: 1},
		"the owner before":         {info: FileInfo{UID: 1}, asked: 1},
		"the group before":         {info: FileInfo{GID: 1}, asked: 1},
		"another directory before": {info: FileInfo{ID: policy.FileID{Ino: 1}}, asked: 1},
	} {
		state, info, asked := c.state, c.info, 0
		h := Host{
			DirState: func(string, bool) (DirState, bool) { return state, true },
			ReadDir:  func(string) ([]DirEntry, error) { return nil, nil },
			Lstat:    func(string) (FileInfo, error) { asked++; return info, nil },
		}
		var r Recording
		through := r.Record(h)
		through.Lstat("/d")
		through.ReadDir("/d")
		state, info, asked = c.now, c.later, 0
		if got := r.Unchanged(); got != c.unchanged || asked != c.asked {
			t.Errorf("%s: unchanged %t, and %d questions", name, got, asked)
		}
	}
}

// TestRecordingOfLinks: while the state of a directory is the same, the targets of its links are not asked for again.
func TestRecordingOfLinks(t *testing.T) {
	for _, certain := range []bool{true, false} {
		state, target, asked := DirState{Changed: 1}, "a", 0
		h := Host{
			DirState: func(path string, first bool) (DirState, bool) { return state, path == "/d" && (certain || !first) },
			Readlink: func(string) (string, error) { asked++; return target, nil },
		}
		var r Recording
		r.Record(h).Readlink("/d/link")
		asked = 0
		if !r.Unchanged() || (asked == 0) != certain {
			t.Errorf("certain %t: %d questions", certain, asked)
		}
		state, target = DirState{Changed: 2}, "b"
		if r.Unchanged() {
			t.Errorf("certain %t: another target is not noticed", certain)
		}
	}
}
