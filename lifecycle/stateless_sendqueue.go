package lifecycle

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// maxSendQueue bounds the memory of what waits for a worker that does not read. Beyond it,
// enqueue waits. A frame costs its bytes and frameBytes, for what is known of it.
const (
	maxSendQueue = 64 << 20
	frameBytes   = 2 << 10
)

// sendQueue holds the frames for a worker, so that the senders do not wait while the
// worker reads one of them.
type sendQueue struct {
	written *countingWriter // the worker's stdin
	mu      sync.Mutex
	changed sync.Cond
	frames  []queuedFrame
	size    int64 // the cost of all
	closed  bool
}

// queuedFrame is a frame in a sendQueue.
type queuedFrame struct {
	frame    *mcpproxy.Frame
	delivery *delivery // nil if the sender does not ask
}

// delivery tells where in the stream to a worker a frame begins. startsAfter is 0 until the frame
// is begun, and then one more than the bytes before the frame.
type delivery struct{ startsAfter atomic.Int64 }

// offset returns how many bytes precede the frame. ok is false if none of the frame was
// sent.
func (d *delivery) offset() (at int64, ok bool) {
	n := d.startsAfter.Load()
	return n - 1, n > 0
}

func (q *sendQueue) init(written *countingWriter) { q.changed.L, q.written = &q.mu, written }

// enqueue queues a frame, which belongs to the queue from then on. It waits for room until
// ctx is done: a worker that does not read must not hold its senders for ever.
func (q *sendQueue) enqueue(ctx context.Context, f *mcpproxy.Frame, at *delivery) {
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.full(f) && !q.closed && ctx.Err() == nil {
		q.changed.Wait()
	}
	if q.full(f) && !q.closed {
		f.Close()
		return
	}
	q.append(f, at)
}

// tryEnqueue queues a frame without waiting. If there is no room, it closes the frame and returns
// false.
func (q *sendQueue) tryEnqueue(f *mcpproxy.Frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full(f) && !q.closed {
		f.Close()
		return false
	}
	q.append(f, nil)
	return true
}

// full reports whether a frame would exceed the bound. A frame that is alone may be
// larger.
func (q *sendQueue) full(f *mcpproxy.Frame) bool {
	return q.size > 0 && q.size+f.Size+frameBytes > maxSendQueue
}

// append queues a frame. The caller holds mu.
func (q *sendQueue) append(f *mcpproxy.Frame, at *delivery) {
	if q.closed {
		f.Close()
		return
	}
	q.frames = append(q.frames, queuedFrame{f, at})
	q.size += f.Size + frameBytes
	q.changed.Broadcast()
}

// close makes the queue discard further frames. Those in the queue are still sent.
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

// writeTo sends the queued frames until the queue is closed and empty.
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
		q.mu.Unlock()
		if next.delivery != nil {
			next.delivery.startsAfter.Store(q.written.n.Load() + 1)
		}
		to.Send(next.frame) // an error means that the worker is about to end
		to.EndLine()
		q.mu.Lock()
		q.size -= next.frame.Size + frameBytes
		q.changed.Broadcast()
		q.mu.Unlock()
		next.frame.Close()
	}
}

// isPending reports whether a frame is queued or being sent.
func (q *sendQueue) isPending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size > 0
}
