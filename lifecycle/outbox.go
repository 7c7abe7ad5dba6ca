package lifecycle

import (
	"sync"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// outboxMax bounds what waits for a process that does not read. Then who sends
// waits, as for any server.
const outboxMax = 64 << 20

// outbox are the frames that wait for a process, so that nobody else waits while one
// of them is being read.
type outbox struct {
	mu     sync.Mutex
	moved  sync.Cond
	frames []*mcpproxy.Frame
	size   int64
	sent   int64 // size of the last frame that was sent
	failed bool  // it could not be
	closed bool
}

func (o *outbox) init() { o.moved.L = &o.mu }

// put queues a frame, which is the outbox's from then on.
func (o *outbox) put(f *mcpproxy.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size > 0 && o.size+f.Size > outboxMax && !o.closed {
		o.moved.Wait()
	}
	if o.closed {
		f.Close()
		return
	}
	o.frames = append(o.frames, f)
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
		f := o.frames[0]
		o.frames = o.frames[1:]
		o.mu.Unlock()
		o.mu.Lock()
		o.sent = f.Size
		o.mu.Unlock()
		err := to.Send(f) // one that no longer reads is about to end
		o.mu.Lock()
		o.size -= f.Size
		o.failed = err != nil
		o.moved.Broadcast()
		o.mu.Unlock()
		f.Close()
	}
}

// waits reports whether anything is still to be sent.
func (o *outbox) waits() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size > 0
}

// last tells the size of the last frame that was sent, and whether something could
// not be.
func (o *outbox) last() (size int64, unsent bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent, o.failed || len(o.frames) > 0
}
