package sendqueue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func newQueue() *Queue {
	q := new(Queue)
	q.Init(&streams.CountingWriter{})
	return q
}

func frameOf(n int) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", n) + `"}`))
}

// TestBounds: one frame of any size waits, and further ones while they are few and small.
func TestBounds(t *testing.T) {
	t.Parallel()
	for size, most := range map[int]int{1: maxFrames, maxBytes / 4: 3, 2 * maxBytes: 1} {
		q, n := newQueue(), 0
		for q.TryEnqueue(frameOf(size)) {
			n++
		}
		if n != most {
			t.Errorf("%d frames of %d bytes wait, want %d", n, size, most)
		}
	}
}

// TestEnqueue: Enqueue waits until there is room, the queue is closed or its context is done.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(q *Queue, cancel func()){
		"room":   func(q *Queue, _ func()) { go q.WriteTo(mcpproxy.NewConn(nil, q.Written, 0)) },
		"closed": func(q *Queue, _ func()) { q.Close() },
		"done":   func(_ *Queue, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			q.Written.Dst = new(strings.Builder)
			ctx, cancel := context.WithCancel(t.Context())
			q.Enqueue(ctx, frameOf(2*maxBytes), nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				q.Enqueue(ctx, frameOf(1), nil)
			}()
			select {
			case <-done:
				t.Fatal("there was room")
			case <-time.After(20 * time.Millisecond):
			}
			wake(q, cancel)
			<-done
			q.Close()
			q.TryEnqueue(frameOf(1))
			if len(q.frames) > 1 {
				t.Errorf("%d frames are queued after the end", len(q.frames))
			}
		})
	}
}
