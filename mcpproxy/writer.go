package mcpproxy

import (
	"errors"
	"io"
	"sync"
)

// Writer is the one writer of a direction. Frames and injected messages are
// written whole, one after the other, and a peer that does not read blocks
// everybody who writes. It is safe for concurrent use.
type Writer struct {
	mu       sync.Mutex
	dst      io.Writer
	openLine bool // the last frame had no line end
	err      error
	scratch  []byte
}

// ErrGone says that a frame has no bytes to be sent: it was Oversized, or closed.
var ErrGone = errors.New("the bytes of the frame are gone")

// NewWriter returns a Writer to dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// Send writes a frame with what was inserted into it. After the first error
// every call returns that error: part of a frame may have been written. ErrGone
// is not one of those.
func (w *Writer) Send(f *Frame) error {
	if f.line == nil && f.spill == nil {
		return ErrGone
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.endOpenLine(); err != nil {
		return err
	}
	w.scratch, w.err = f.writeTo(w.dst, w.scratch)
	w.openLine = !f.hasLineEnd()
	return w.err
}

// Inject writes a message of our own. A missing line end is added, also to the
// frame before it.
func (w *Writer) Inject(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.endOpenLine(); err != nil {
		return err
	}
	if line[len(line)-1] != '\n' {
		line = append(line[:len(line):len(line)], '\n')
	}
	_, w.err = w.dst.Write(line)
	return w.err
}

// Replay writes frames that were kept, as they are: the last one may lack its
// line end.
func (w *Writer) Replay(frames []byte) error {
	if len(frames) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.endOpenLine(); err != nil {
		return err
	}
	_, w.err = w.dst.Write(frames)
	w.openLine = frames[len(frames)-1] != '\n'
	return w.err
}

// EndLine gives the last frame a line end if it had none: for a peer that reads lines and
// is not sent another one.
func (w *Writer) EndLine() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.endOpenLine()
}

// endOpenLine makes sure that the stream is between two frames.
func (w *Writer) endOpenLine() error {
	if w.err == nil && w.openLine {
		_, w.err = w.dst.Write([]byte{'\n'})
		w.openLine = false
	}
	return w.err
}
