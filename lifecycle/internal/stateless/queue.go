package stateless

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
	maxQueued     = 512
	maxQueuedSize = 4 << 20
)

// sendQueue holds the frames for a worker, so that the senders do not wait while the worker reads
// one of them.
type sendQueue struct {
	written *streams.CountingWriter // the worker's stdin
	mu      sync.Mutex
	changed sync.Cond
	frames  []queuedFrame
	bytes   int64 // of frames
	closed  bool
}

// queuedFrame is a frame in a sendQueue.
type queuedFrame struct {
	frame *mcpproxy.Frame
	at    *delivery // nil if the sender does not ask
}

// delivery tells where in the stream to a worker a frame begins. startsAfter is 0 until the frame
// is begun, and then one more than the bytes before the frame.
type delivery struct{ startsAfter atomic.Int64 }

func (d *delivery) offset() (at int64, ok bool) {
	n := d.startsAfter.Load()
	return n - 1, n > 0
}

func (q *sendQueue) init(written *streams.CountingWriter) {
	q.changed.L, q.written = &q.mu, written
}

// enqueue queues a frame, which belongs to the queue from then on. It waits for room until
// ctx is done: a worker that does not read must not hold its senders forever.
func (q *sendQueue) enqueue(ctx context.Context, f *mcpproxy.Frame, at *delivery) {
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

// tryEnqueue queues a frame without waiting. If there is no room, it closes the frame and returns
// false.
func (q *sendQueue) tryEnqueue(f *mcpproxy.Frame) bool {
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
func (q *sendQueue) append(f *mcpproxy.Frame, at *delivery) bool {
	switch {
	case q.closed:
		f.Close()
		return true
	case len(q.frames) > 0 && (len(q.frames) == maxQueued || q.bytes+f.Size > maxQueuedSize):
		return false
	}
	q.bytes += f.Size
	q.frames = append(q.frames, queuedFrame{f, at})
	q.changed.Broadcast()
	return true
}

func (q *sendQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *sendQueue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

func (q *sendQueue) writeTo(to *mcpproxy.Conn) {
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
		if next.at != nil {
			// Before Send: if the worker dies during it, this tells whether it has read any of the frame.
			next.at.startsAfter.Store(q.written.N.Load() + 1)
		}
		to.Send(next.frame) // an error means that the worker is about to end
		to.EndLine()
		next.frame.Close()
	}
}
