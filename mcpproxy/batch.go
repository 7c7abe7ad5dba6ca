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
	mu    sync.Mutex
	to    *Writer
	left  int
	limit int64

	// Invariant: line, or else spill, holds a whole frame, of which the first size
	// bytes are what another answer goes behind.
	line  []byte
	spill *spill
	size  int64
}

// tail is what follows the answers.
const tail = "]\n"

// NewBatch returns a Batch that waits for as many answers. limit is that of
// NewReader, and holds for what others say: not for Inject.
func NewBatch(to *Writer, requests int, limit int64) *Batch {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Batch{to: to, left: requests, limit: limit}
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
	return b.take(b.limit, func(w *answers) error { return f.writePart(w, self.Start, self.End) })
}

// Inject takes an answer of our own. If that fails too only Drop is left.
func (b *Batch) Inject(line []byte) error {
	return b.take(0, func(w *answers) error {
		_, err := w.Write(bytes.TrimSpace(line))
		return err
	})
}

// Drop takes note that one of the requests will have no answer: it was cancelled.
func (b *Batch) Drop() error { return b.take(0, nil) }

// take adds what write writes, if anything. limit 0 is none.
func (b *Batch) take(limit int64, write func(*answers) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return ErrNotWaited
	}
	if write != nil {
		w := answers{b: b, at: b.size}
		if err := w.add(limit, write); err != nil {
			return err
		}
		b.size = w.at
	}
	if b.left--; b.left > 0 || b.size == 0 {
		return nil
	}
	whole := Frame{line: b.line, spill: b.spill, Size: b.size + int64(len(tail)), own: true}
	b.line, b.spill = nil, nil
	defer whole.Close()
	if whole.spill == nil {
		whole.line = whole.line[:whole.Size]
	}
	return b.to.Send(&whole)
}

// answers writes to a Batch behind the answers that it has.
type answers struct {
	b  *Batch
	at int64
}

// add writes one more element and what makes a frame of it. After an error the
// batch is what it was, once it is cut to its size.
func (w *answers) add(limit int64, write func(*answers) error) error {
	b := w.b
	before := "["
	if w.at > 0 {
		before = ","
	}
	_, err := w.Write([]byte(before))
	if err == nil {
		err = write(w)
	}
	end := w.at
	if err == nil {
		_, err = w.Write([]byte(tail))
	}
	if err == nil && limit > 0 && w.at > limit {
		err = fmt.Errorf("beyond %d bytes", limit)
	}
	w.at = end
	if err == nil {
		return nil
	}
	if b.size > 0 {
		restore := answers{b: b, at: b.size}
		restore.Write([]byte(tail)) // over bytes that are there
	}
	return fmt.Errorf("%w: %w", ErrBatchFull, err)
}

func (w *answers) Write(p []byte) (int, error) {
	b := w.b
	if b.spill == nil && w.at+int64(len(p)) > memoryMax {
		spill := newSpill()
		if _, err := spill.Write(b.line[:w.at]); err != nil {
			spill.release()
			return 0, err
		}
		b.spill, b.line = spill, nil
	}
	if b.spill != nil {
		n, err := b.spill.WriteAt(p, w.at)
		w.at += int64(n)
		return n, err
	}
	b.line = append(b.line[:w.at], p...)
	w.at += int64(len(p))
	return len(p), nil
}
