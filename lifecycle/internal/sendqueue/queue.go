// Package sendqueue holds the frames that wait for a process to read them.
package sendqueue

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// What may wait behind the frame that is being sent. One frame may wait in any case, so a queue holds
// 8 MiB in memory at worst, and for each frame about 1 KiB.
const (
	maxFrames = 512
	maxBytes  = 4 << 20
)

// Queue holds the frames for a worker, so that the senders do not wait while the worker reads
// one of them.
type Queue struct {
	Written *streams.CountingWriter // the worker's stdin
	mu      sync.Mutex
	changed sync.Cond
	frames  []queuedFrame
	bytes   int64 // of frames
	busy    bool  // a frame is queued or being sent
	closed  bool
}

// queuedFrame is a frame in a Queue.
type queuedFrame struct {
	frame    *mcpproxy.Frame
	delivery *Delivery // nil if the sender does not ask
}

// Delivery tells where in the stream to a worker a frame begins. startsAfter is 0 until the frame
// is begun, and then one more than the bytes before the frame.
type Delivery struct{ startsAfter atomic.Int64 }

func (d *Delivery) Offset() (at int64, ok bool) {
	n := d.startsAfter.Load()
	return n - 1, n > 0
}

func (q *Queue) Init(written *streams.CountingWriter) {
	q.changed.L, q.Written = &q.mu, written
}

// Enqueue queues a frame, which belongs to the queue from then on. It waits for room until
// ctx is done: a worker that does not read must not hold its senders forever.
func (q *Queue) Enqueue(ctx context.Context, f *mcpproxy.Frame, at *Delivery) {
	// Wakes the loop below when ctx ends.
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})()
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.append(f, at) {
		if ctx.Err() != nil {
			f.Close()
			return
		}
		q.changed.Wait()
	}
}

// TryEnqueue queues a frame without waiting. If there is no room, it closes the frame and returns
// false.
func (q *Queue) TryEnqueue(f *mcpproxy.Frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.append(f, nil) {
		f.Close()
		return false
	}
	return true
}

// append queues a frame, or closes it if the queue is closed. It returns false, and does neither, if
// there is no room. The caller holds mu.
func (q *Queue) append(f *mcpproxy.Frame, at *Delivery) bool {
	switch {
	case q.closed:
		f.Close()
		return true
	case len(q.frames) > 0 && (len(q.frames) == maxFrames || q.bytes+f.Size > maxBytes):
		return false
	}
	q.busy = true
	q.bytes += f.Size
	q.frames = append(q.frames, queuedFrame{f, at})
	q.changed.Broadcast()
	return true
}

func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *Queue) IsClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

func (q *Queue) WriteTo(to *mcpproxy.Conn) {
	for {
		q.mu.Lock()
		for len(q.frames) == 0 && !q.closed {
			q.changed.Wait()
		}
		if len(q.frames) == 0 {
			q.mu.Unlock()
			return
		}
		next := q.frames[0]
		q.frames[0] = queuedFrame{}
		q.frames = q.frames[1:]
		q.bytes -= next.frame.Size
		q.changed.Broadcast()
		q.mu.Unlock()
		if next.delivery != nil {
			// Before Send: if the worker dies during it, this tells whether it has read any of the frame.
			next.delivery.startsAfter.Store(q.Written.N.Load() + 1)
		}
		to.Send(next.frame) // an error means that the worker is about to end
		to.EndLine()
		q.mu.Lock()
		q.busy = len(q.frames) > 0
		q.mu.Unlock()
		next.frame.Close()
	}
}

func (q *Queue) IsPending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.busy
}
