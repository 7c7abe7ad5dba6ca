package lifecycle

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// outboxMax bounds what waits for a process that does not read. Then who sends
// waits, as for any server.
const outboxMax = 64 << 20

// outbox are the frames that wait for a process, so that nobody else waits while one
// of them is being read.
type outbox struct {
	written *progress // to the process
	mu      sync.Mutex
	moved   sync.Cond
	frames  []posted
	size    int64
	closed  bool
}

// posted is a frame in an outbox.
type posted struct {
	frame *mcpproxy.Frame
	place *place // nil: nobody will ask
}

// place is where in the stream to a process a frame begins, once it has begun.
type place struct{ after atomic.Int64 }

// begun tells how many bytes stand before the frame; ok is false when none of it was
// sent.
func (p *place) begun() (at int64, ok bool) {
	n := p.after.Load()
	return n - 1, n > 0
}

func (o *outbox) init(written *progress) { o.moved.L, o.written = &o.mu, written }

// put queues a frame, which is the outbox's from then on. It waits for room until ctx
// is done: a process that reads nothing must not hold who writes to it for ever.
func (o *outbox) put(ctx context.Context, f *mcpproxy.Frame, at *place) {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.moved.Broadcast()
	})()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.full(f) && !o.closed && ctx.Err() == nil {
		o.moved.Wait()
	}
	if o.full(f) && !o.closed {
		f.Close()
		return
	}
	o.take(f, at)
}

// offer is put for who must not wait. It reports false when there is no room.
func (o *outbox) offer(f *mcpproxy.Frame) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.full(f) && !o.closed {
		f.Close()
		return false
	}
	o.take(f, nil)
	return true
}

func (o *outbox) full(f *mcpproxy.Frame) bool { return o.size > 0 && o.size+f.Size > outboxMax }

// take queues a frame. The caller holds mu.
func (o *outbox) take(f *mcpproxy.Frame, at *place) {
	if o.closed {
		f.Close()
		return
	}
	o.frames = append(o.frames, posted{f, at})
	o.size += f.Size
	o.moved.Broadcast()
}

// close takes nothing more. What waits is still sent.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.moved.Broadcast()
}

func (o *outbox) isClosed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed
}

// write sends what is queued until the outbox is closed and empty.
func (o *outbox) write(to *mcpproxy.Conn) {
	for {
		o.mu.Lock()
		for len(o.frames) == 0 && !o.closed {
			o.moved.Wait()
		}
		if len(o.frames) == 0 {
			o.mu.Unlock()
			return
		}
		next := o.frames[0]
		o.frames[0] = posted{}
		o.frames = o.frames[1:]
		o.mu.Unlock()
		if next.place != nil {
			next.place.after.Store(o.written.n.Load() + 1)
		}
		to.Send(next.frame) // one that no longer reads is about to end
		to.End()
		o.mu.Lock()
		o.size -= next.frame.Size
		o.moved.Broadcast()
		o.mu.Unlock()
		next.frame.Close()
	}
}

// waits reports whether anything is still to be sent.
func (o *outbox) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size > 0
}
