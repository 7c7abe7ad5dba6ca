package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrBatchFull is in the chain of what a Batch returns when it cannot keep an
	// answer: with it all of them would be beyond the limit, or its file cannot be read. The
	// answer is still waited for: say so in its place, by Inject.
	ErrBatchFull = errors.New("an answer cannot be kept with the others of its batch")
	// ErrNotWaited says that a frame is not one answer, or that all have come.
	ErrNotWaited = errors.New("the batch does not wait for that")
)

// Batch collects the answers to the requests of one batch and sends them in one
// frame, in the order in which they came, when the last one is there (JSON-RPC
// 2.0, "Batch": one array, in any order, and nothing if there is nothing to be
// said). Each answer keeps its bytes. Like a Writer it is safe for concurrent
// use. It holds up to 4 MiB in memory and everything beyond in a file, if there can be one.
type Batch struct {
	mu      sync.Mutex
	dst     *Writer
	waiting int
	limit   int64

	// Invariant: line, or else spill, holds a whole frame, of which the first size
	// bytes are what another answer goes behind.
	line  []byte
	spill *spill
	size  int64
}

// batchEnd is what follows the answers.
const batchEnd = "]\n"

// NewBatch returns a Batch that waits for as many answers. limit is that of
// NewReader, and holds for what others say: not for Inject.
func NewBatch(to *Writer, requests int, limit int64) *Batch {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Batch{dst: to, waiting: requests, limit: limit}
}

// Send takes an answer, a frame with one message. Whatever else is on the line is
// left away. The last one's error may be that of the Writer.
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

// Inject takes an answer of our own. If that fails too only Drop is left.
func (b *Batch) Inject(line []byte) error {
	return b.add(0, func(w *batchWriter) error {
		_, err := w.Write(bytes.TrimSpace(line))
		return err
	})
}

// Drop takes note that one of the requests will have no answer: it was cancelled.
func (b *Batch) Drop() error { return b.add(0, nil) }

// add adds what write writes, if anything. limit 0 is none.
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

// batchWriter writes to a Batch behind the answers that it has.
type batchWriter struct {
	b   *Batch
	pos int64
}

// writeElement writes one more element and what makes a frame of it. After an error the
// batch is what it was, once it is cut to its size.
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
		err = fmt.Errorf("beyond %d bytes", limit)
	}
	w.pos = end
	if err == nil {
		return nil
	}
	if b.size > 0 {
		restore := batchWriter{b: b, pos: b.size}
		restore.Write([]byte(batchEnd)) // over bytes that are there
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
