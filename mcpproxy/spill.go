package mcpproxy

import (
	"errors"
	"io"
	"math"
	"os"
	"sync/atomic"
)

// spill holds the bytes of a frame that is too large for memory in a file without a name.
// When no file can be made, or the file takes no more (a full disk, a limit), the rest
// stays in memory. So bytes once accepted are never lost, and the frame limit bounds the
// memory. Several frames may share a spill: a frame and its detached copy, or the messages
// of a batch.
//
// Invariant: of [0, end) the file holds the bytes below fileEnd, and pieces holds the
// others.
type spill struct {
	File    *os.File // nil when no file could be made
	fileEnd int64
	end     int64
	users   atomic.Int32

	pieces [][]byte // by position, each of pieceSize; nil where the file holds all of it
}

const pieceSize = 1 << 20

func newSpill() *spill {
	s := &spill{fileEnd: math.MaxInt64}
	s.users.Store(1)
	var err error
	if s.File, err = tempFile(); err != nil {
		s.File, s.fileEnd = nil, 0
	}
	return s
}

// Write appends p.
func (s *spill) Write(p []byte) (int, error) { return s.WriteAt(p, s.end) }

// WriteAt writes at an offset that is at most the end.
func (s *spill) WriteAt(p []byte, at int64) (n int, err error) {
	if at < s.fileEnd {
		n, err = s.File.WriteAt(p[:min(int64(len(p)), s.fileEnd-at)], at)
		s.end = max(s.end, at+int64(n))
		if err != nil {
			if err := s.shrinkFile(at + int64(n)); err != nil {
				return n, err
			}
		}
	}
	if n < len(p) {
		s.storeInMemory(p[n:], at+int64(n))
	}
	return len(p), nil
}

func (s *spill) shrinkFile(to int64) error {
	if held := min(s.fileEnd, s.end) - to; held > 0 {
		rest := make([]byte, held)
		if _, err := s.File.ReadAt(rest, to); err != nil {
			return err
		}
		s.storeInMemory(rest, to)
	}
	s.fileEnd = to
	return nil
}

func (s *spill) storeInMemory(p []byte, at int64) {
	for len(p) > 0 {
		i := int(at / pieceSize)
		for i >= len(s.pieces) {
			s.pieces = append(s.pieces, nil)
		}
		if s.pieces[i] == nil {
			s.pieces[i] = make([]byte, pieceSize)
		}
		n := copy(s.pieces[i][at%pieceSize:], p)
		p, at = p[n:], at+int64(n)
		s.end = max(s.end, at)
	}
}

// ReadAt implements io.ReaderAt.
func (s *spill) ReadAt(p []byte, at int64) (n int, err error) {
	if at < s.fileEnd {
		n, err = s.File.ReadAt(p[:min(int64(len(p)), s.fileEnd-at)], at)
		if err != nil {
			return n, err
		}
	}
	for n < len(p) {
		from := at + int64(n)
		if from >= s.end {
			return n, io.EOF
		}
		piece := s.pieces[from/pieceSize][from%pieceSize:]
		n += copy(p[n:], piece[:min(int64(len(piece)), s.end-from)])
	}
	return n, nil
}

func (s *spill) share() *spill {
	if s != nil {
		s.users.Add(1)
	}
	return s
}

func (s *spill) release() {
	if s.users.Add(-1) == 0 && s.File != nil {
		s.File.Close()
	}
}

// unlinkedTempFile returns a file whose name has been removed. It fails on Windows, where
// an open file cannot be removed.
func unlinkedTempFile() (*os.File, error) {
	f, err := os.CreateTemp("", "mcp-jail-frame-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}
