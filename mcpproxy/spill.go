package mcpproxy

import (
	"bytes"
	"os"
	"sync/atomic"
)

// spill holds the bytes of a frame that is too large for memory in a file without a name.
// When no file can be made, or the file takes no more (a full disk, a limit), the bytes move
// to memory. So bytes once accepted are never lost, and twice the frame limit bounds the
// memory. Several frames may share a spill: a frame and its detached copy, or the messages
// of a batch.
type spill struct {
	file   *os.File // nil when the bytes are in memory
	memory []byte
	end    int64
	users  atomic.Int32
}

func newSpill() *spill {
	s := new(spill)
	s.users.Store(1)
	s.file, _ = tempFile() // nil after an error
	return s
}

// Write appends p.
func (s *spill) Write(p []byte) (int, error) { return s.WriteAt(p, s.end) }

// WriteAt writes at an offset that is at most the end.
func (s *spill) WriteAt(p []byte, at int64) (int, error) {
	if s.file != nil {
		if _, err := s.file.WriteAt(p, at); err != nil {
			if err := s.leaveFile(); err != nil {
				return 0, err
			}
		}
	}
	end := max(s.end, at+int64(len(p)))
	if s.file == nil {
		s.memory = append(s.memory, make([]byte, end-s.end)...)
		copy(s.memory[at:], p)
	}
	s.end = end
	return len(p), nil
}

// leaveFile moves the bytes to memory.
func (s *spill) leaveFile() error {
	s.memory = make([]byte, s.end)
	if _, err := s.file.ReadAt(s.memory, 0); err != nil {
		return err
	}
	s.file.Close()
	s.file = nil
	return nil
}

// ReadAt implements io.ReaderAt.
func (s *spill) ReadAt(p []byte, at int64) (n int, err error) {
	if s.file != nil {
		return s.file.ReadAt(p, at)
	}
	return bytes.NewReader(s.memory).ReadAt(p, at)
}

func (s *spill) share() *spill {
	if s != nil {
		s.users.Add(1)
	}
	return s
}

func (s *spill) release() {
	if s.users.Add(-1) == 0 && s.file != nil {
		s.file.Close()
	}
}

// tempFile returns a file whose name has been removed. It fails on Windows, where an open file cannot be
// removed.
func tempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "mcp-jail-frame-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}
