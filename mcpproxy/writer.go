package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
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

var (
	// ErrBatchFull is in the chain of the error of a Batch that cannot keep a response:
	// all responses together exceed the limit, or a file that holds one cannot be read.
	// The Batch still waits for that response. Inject an error in its place.
	ErrBatchFull = errors.New("the response cannot be stored with the others of its batch")
	// ErrNotWaited means that a frame is not a single response, or that all responses have
	// arrived.
	ErrNotWaited = errors.New("the batch does not wait for this frame")
)

// Batch collects the responses to the requests of one batch. It sends them in one frame
// when the last one has arrived, in the order of arrival. JSON-RPC 2.0, "Batch", wants one
// array in any order, and nothing when there is no response. Each response keeps its
// bytes, in a temporary file where one can be made. It is safe for concurrent use.
type Batch struct {
	mu      sync.Mutex
	dst     *Writer
	waiting int // responses that are still to come
	limit   int64
	spill   *spill // its first size bytes are those of the responses, with a bracket and commas before them
	size    int64
}

// batchEnd follows the last response.
const batchEnd = "]\n"

// NewBatch returns a Batch that waits for the given number of responses. limit has the
// meaning that it has for NewReader. It applies to Send and not to Inject.
func NewBatch(to *Writer, requests int, limit int64) *Batch {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Batch{dst: to, waiting: requests, limit: limit}
}

// Send adds a response, which must be a frame with one message. Other text on the line is
// left out. Sending the last response may return an error of the Writer.
func (b *Batch) Send(f *Frame) error {
	switch {
	case f.line == nil && f.spill == nil:
		return ErrGone
	case len(f.Messages) != 1 || f.Messages[0].Kind() != Response || f.Flaws.Has(FlawMalformed):
		return ErrNotWaited
	}
	self := f.Messages[0].Self
	return b.add(b.limit, func(w io.Writer) error { return f.writePart(w, self.Start, self.End) })
}

// Inject adds our own response. When it fails, call Drop.
func (b *Batch) Inject(line []byte) error {
	return b.add(math.MaxInt64, func(w io.Writer) error {
		_, err := w.Write(bytes.TrimSpace(line))
		return err
	})
}

// Drop counts a request that will have no response, for example because it was cancelled.
func (b *Batch) Drop() error { return b.add(0, nil) }

// add appends the bytes that write writes, if write is not nil and the whole does not exceed the limit.
func (b *Batch) add(limit int64, write func(io.Writer) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 {
		return ErrNotWaited
	}
	if write != nil {
		if err := b.addElement(limit, write); err != nil {
			return fmt.Errorf("%w: %w", ErrBatchFull, err)
		}
	}
	if b.waiting--; b.waiting > 0 || b.spill == nil {
		return nil
	}
	defer b.spill.release()
	if b.size == 0 {
		return nil
	}
	if _, err := b.spill.WriteAt([]byte(batchEnd), b.size); err != nil {
		return err
	}
	return b.dst.Send(&Frame{spill: b.spill, Size: b.size + int64(len(batchEnd))})
}

// addElement adds an element of the array. After an error size is what it was, and what was written is
// overwritten later.
func (b *Batch) addElement(limit int64, write func(io.Writer) error) error {
	before := ","
	if b.spill == nil {
		b.spill = newSpill()
	}
	if b.size == 0 {
		before = "["
	}
	w := io.NewOffsetWriter(b.spill, b.size)
	if _, err := w.Write([]byte(before)); err != nil {
		return err
	}
	if err := write(w); err != nil {
		return err
	}
	written, _ := w.Seek(0, io.SeekCurrent)
	if b.size+written+int64(len(batchEnd)) > limit {
		return fmt.Errorf("the batch would exceed %d bytes", limit)
	}
	b.size += written
	return nil
}
