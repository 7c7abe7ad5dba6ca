//go:build unix

package stateless

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func newQueue() *sendQueue {
	q := new(sendQueue)
	q.init(&streams.CountingWriter{})
	return q
}

func frameOf(n int) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", n) + `"}`))
}

// TestQueueBounds: one frame of any size waits, and further ones while they are few and small.
func TestQueueBounds(t *testing.T) {
	t.Parallel()
	for size, most := range map[int]int{1: maxQueued, maxQueuedSize / 4: 3, 2 * maxQueuedSize: 1} {
		q, n := newQueue(), 0
		for q.tryEnqueue(frameOf(size)) {
			n++
		}
		if n != most {
			t.Errorf("%d frames of %d bytes wait, want %d", n, size, most)
		}
	}
}

// TestEnqueue: enqueue waits until there is room, the queue is closed or its context is done.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(q *sendQueue, cancel func()){
		"room":   func(q *sendQueue, _ func()) { go q.writeTo(mcpproxy.NewConn(nil, q.written, 0)) },
		"closed": func(q *sendQueue, _ func()) { q.close() },
		"done":   func(_ *sendQueue, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			q.written.Dst = new(strings.Builder)
			ctx, cancel := context.WithCancel(t.Context())
			q.enqueue(ctx, frameOf(2*maxQueuedSize), nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				q.enqueue(ctx, frameOf(1), nil)
			}()
			select {
			case <-done:
				t.Fatal("there was room")
			case <-time.After(20 * time.Millisecond):
			}
			wake(q, cancel)
			<-done
			q.close()
			q.tryEnqueue(frameOf(1))
			if len(q.frames) > 1 {
				t.Errorf("%d frames are queued after the end", len(q.frames))
			}
		})
	}
}
