package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
)

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
// bytes. A Batch holds up to 4 MiB in memory and the rest in a temporary file, where one
// can be made. It is safe for concurrent use.
type Batch struct {
	mu      sync.Mutex
	dst     *Writer
	waiting int // responses that are still to come
	limit   int64

	// Invariant: line, or spill if it is set, holds a whole frame. The next
	// response is written after its first size bytes.
	line  []byte
	spill *spill
	size  int64
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
	return b.add(b.limit, func(w *batchWriter) error { return f.writePart(w, self.Start, self.End) })
}

// Inject adds our own response. When it fails, call Drop.
func (b *Batch) Inject(line []byte) error {
	return b.add(0, func(w *batchWriter) error {
		_, err := w.Write(bytes.TrimSpace(line))
		return err
	})
}

// Drop counts a request that will have no response, for example because it was cancelled.
func (b *Batch) Drop() error { return b.add(0, nil) }

// add appends the bytes that write writes, if write is not nil. limit 0 means no limit.
func (b *Batch) add(limit int64, write func(*batchWriter) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 {
		return ErrNotWaited
	}
	if write != nil {
		w := batchWriter{b: b, pos: b.size}
		if err := w.writeElement(limit, write); err != nil {
			return err
		}
		b.size = w.pos
	}
	if b.waiting--; b.waiting > 0 || b.size == 0 {
		return nil
	}
	whole := Frame{line: b.line, spill: b.spill, Size: b.size + int64(len(batchEnd)), detached: true}
	b.line, b.spill = nil, nil
	defer whole.Close()
	if whole.spill == nil {
		whole.line = whole.line[:whole.Size]
	}
	return b.dst.Send(&whole)
}

// batchWriter writes to a Batch after the responses that it holds.
type batchWriter struct {
	b   *Batch
	pos int64
}

// writeElement writes one more element of the array and the end of the array. After an
// error the batch has its former content, once it is cut to its size.
func (w *batchWriter) writeElement(limit int64, write func(*batchWriter) error) error {
	b := w.b
	before := "["
	if w.pos > 0 {
		before = ","
	}
	_, err := w.Write([]byte(before))
	if err == nil {
		err = write(w)
	}
	end := w.pos
	if err == nil {
		_, err = w.Write([]byte(batchEnd))
	}
	if err == nil && limit > 0 && w.pos > limit {
		err = fmt.Errorf("the batch would exceed %d bytes", limit)
	}
	w.pos = end
	if err == nil {
		return nil
	}
	if b.size > 0 {
		restore := batchWriter{b: b, pos: b.size}
		restore.Write([]byte(batchEnd)) // overwrites bytes, so it needs no more room
	}
	return fmt.Errorf("%w: %w", ErrBatchFull, err)
}

func (w *batchWriter) Write(p []byte) (int, error) {
	b := w.b
	if b.spill == nil && w.pos+int64(len(p)) > maxInMemory {
		spill := newSpill()
		if _, err := spill.Write(b.line[:w.pos]); err != nil {
			spill.release()
			return 0, err
		}
		b.spill, b.line = spill, nil
	}
	if b.spill != nil {
		n, err := b.spill.WriteAt(p, w.pos)
		w.pos += int64(n)
		return n, err
	}
	b.line = append(b.line[:w.pos], p...)
	w.pos += int64(len(p))
	return len(p), nil
}
