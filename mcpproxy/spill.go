package mcpproxy

import (
	"errors"
	"os"
	"sync/atomic"
)

// spill is a file without a name that holds the bytes of a frame which is too
// large for memory. Several frames may have a part in it: a frame and its
// detached copy, the messages of a batch.
type spill struct {
	*os.File
	users atomic.Int32
}

func newSpill() (*spill, error) {
	file, err := namelessFile()
	if err != nil {
		return nil, err
	}
	s := &spill{File: file}
	s.users.Store(1)
	return s, nil
}

// share returns s for one more user.
func (s *spill) share() *spill {
	if s != nil {
		s.users.Add(1)
	}
	return s
}

// release ends the use by one.
func (s *spill) release() {
	if s.users.Add(-1) == 0 {
		s.File.Close()
	}
}

// unlinkedFile returns a file that has lost its name again. Where an open file
// cannot be removed (Windows) it fails, and such a frame counts as oversized.
func unlinkedFile() (*os.File, error) {
	f, err := os.CreateTemp("", "mcp-jail-frame-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}
