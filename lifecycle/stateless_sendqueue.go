package lifecycle

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// maxSendQueue bounds what waits for a process that does not read. Then who sends
// waits, as for any server.
const maxSendQueue = 64 << 20

// sendQueue are the frames that wait for a process, so that nobody else waits while one
// of them is being read.
type sendQueue struct {
	written *countingWriter // to the process
	mu      sync.Mutex
	changed sync.Cond
	frames  []queuedFrame
	size    int64
	closed  bool
}

// queuedFrame is a frame in an outbox.
type queuedFrame struct {
	frame    *mcpproxy.Frame
	delivery *delivery // nil: nobody will ask
}

// delivery is where in the stream to a process a frame begins, once it has begun.
type delivery struct{ startsAfter atomic.Int64 }

// offset tells how many bytes stand before the frame; ok is false when none of it was
// sent.
func (d *delivery) offset() (at int64, ok bool) {
	n := d.startsAfter.Load()
	return n - 1, n > 0
}

func (q *sendQueue) init(written *countingWriter) { q.changed.L, q.written = &q.mu, written }

// enqueue queues a frame, which is the outbox's from then on. It waits for room until ctx
// is done: a process that reads nothing must not hold who writes to it for ever.
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

// tryEnqueue is put for who must not wait. It reports false when there is no room.
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

func (q *sendQueue) full(f *mcpproxy.Frame) bool { return q.size > 0 && q.size+f.Size > maxSendQueue }

// append queues a frame. The caller holds mu.
func (q *sendQueue) append(f *mcpproxy.Frame, at *delivery) {
	if q.closed {
		f.Close()
		return
	}
	q.frames = append(q.frames, queuedFrame{f, at})
	q.size += f.Size
	q.changed.Broadcast()
}

// close takes nothing more. What waits is still sent.
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

// writeTo sends what is queued until the outbox is closed and empty.
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
		to.Send(next.frame) // one that no longer reads is about to end
		to.EndLine()
		q.mu.Lock()
		q.size -= next.frame.Size
		q.changed.Broadcast()
		q.mu.Unlock()
		next.frame.Close()
	}
}

// isPending reports whether anything is still to be sent.
func (q *sendQueue) isPending() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size > 0
}
