package mcpproxy

import (
	"errors"
	"io"
	"sync"
)

// Writer is the only writer of a direction. It writes frames and injected messages whole,
// one after the other. A peer that does not read blocks all callers. It is safe for
// concurrent use.
type Writer struct {
	mu       sync.Mutex
	dst      io.Writer
	openLine bool // the last frame has no line end
	err      error
	scratch  []byte
}

// ErrGone means that a frame has no bytes to send, because it was Oversized or closed.
var ErrGone = errors.New("the frame is oversized or closed and has no bytes to send")

// NewWriter returns a Writer to dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// Send writes a frame with its edits. After an error of the stream every call returns that
// error, because part of a frame may have been written. ErrGone has no such effect.
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

// Inject writes our own message. It adds a missing line end to the message and to the
// frame before it.
func (w *Writer) Inject(line []byte) error {
	if len(line) == 0 {
		return nil
	}
	if line[len(line)-1] != '\n' {
		line = append(line[:len(line):len(line)], '\n')
	}
	return w.Replay(line)
}

// Replay writes recorded frames unchanged. The last one may lack its line end.
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

// EndLine adds the line end that the last frame lacks, for a peer that reads lines and
// gets no further frame.
func (w *Writer) EndLine() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.endOpenLine()
}

func (w *Writer) endOpenLine() error {
	if w.err == nil && w.openLine {
		_, w.err = w.dst.Write([]byte{'\n'})
		w.openLine = false
	}
	return w.err
}
