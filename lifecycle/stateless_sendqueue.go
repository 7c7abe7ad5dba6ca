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
func (p *delivery) offset() (at int64, ok bool) {
	n := p.startsAfter.Load()
	return n - 1, n > 0
}

func (o *sendQueue) init(written *countingWriter) { o.changed.L, o.written = &o.mu, written }

// enqueue queues a frame, which is the outbox's from then on. It waits for room until ctx
// is done: a process that reads nothing must not hold who writes to it for ever.
func (o *sendQueue) enqueue(ctx context.Context, f *mcpproxy.Frame, at *delivery) {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full(f) && !o.closed && ctx.Err() == nil {
		o.changed.Wait()
	}
	if o.full(f) && !o.closed {
		f.Close()
		return
	}
	o.append(f, at)
}

// tryEnqueue is put for who must not wait. It reports false when there is no room.
func (o *sendQueue) tryEnqueue(f *mcpproxy.Frame) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.full(f) && !o.closed {
		f.Close()
		return false
	}
	o.append(f, nil)
	return true
}

func (o *sendQueue) full(f *mcpproxy.Frame) bool { return o.size > 0 && o.size+f.Size > maxSendQueue }

// append queues a frame. The caller holds mu.
func (o *sendQueue) append(f *mcpproxy.Frame, at *delivery) {
	if o.closed {
		f.Close()
		return
	}
	o.frames = append(o.frames, queuedFrame{f, at})
	o.size += f.Size
	o.changed.Broadcast()
}

// close takes nothing more. What waits is still sent.
func (o *sendQueue) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

func (o *sendQueue) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// writeTo sends what is queued until the outbox is closed and empty.
func (o *sendQueue) writeTo(to *mcpproxy.Conn) {
	for {
		o.mu.Lock()
		for len(o.frames) == 0 && !o.closed {
			o.changed.Wait()
		}
		if len(o.frames) == 0 {
			o.mu.Unlock()
			return
		}
		next := o.frames[0]
		o.frames[0] = queuedFrame{}
		o.frames = o.frames[1:]
		o.mu.Unlock()
		if next.delivery != nil {
			next.delivery.startsAfter.Store(o.written.n.Load() + 1)
		}
		to.Send(next.frame) // one that no longer reads is about to end
		to.EndLine()
		o.mu.Lock()
		o.size -= next.frame.Size
		o.changed.Broadcast()
		o.mu.Unlock()
		next.frame.Close()
	}
}

// isPending reports whether anything is still to be sent.
func (o *sendQueue) isPending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size > 0
}
