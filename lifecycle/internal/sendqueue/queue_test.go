package sendqueue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestSendQueue: TryEnqueue does not wait, and Enqueue waits until there is room or the
// queue is closed.
func TestSendQueue(t *testing.T) {
	t.Parallel()
	o := queueOf(mcpproxy.NewBudget(1 << 20))
	o.Enqueue(t.Context(), frameOf(1<<20), nil) // alone, it may be larger
	if o.TryEnqueue(frameOf(1)) {
		t.Error("there is room for more")
	}
	small, n := queueOf(mcpproxy.NewBudget(1<<20)), 0
	for small.TryEnqueue(frameOf(1)) {
		n++
	}
	if most := 1 << 19 / int(frameOf(1).Cost()); n != most {
		t.Errorf("%d small frames wait, want %d", n, most)
	}
	done := make(chan struct{})
	go func() {
		o.Enqueue(t.Context(), frameOf(1), nil)
		close(done)
	}()
	select {
	case <-done:
		t.Error("put did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	o.Close()
	<-done
	if len(o.frames) != 1 || !o.TryEnqueue(frameOf(1)) {
		t.Error("something is queued after the end")
	}
}

func queueOf(b *mcpproxy.Budget) *Queue {
	o := new(Queue)
	o.Init(&streams.CountingWriter{}, b.Share(0))
	return o
}

func frameOf(n int) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", n) + `"}`))
}

// TestEnqueueCancelled: Enqueue returns when its context is done.
func TestEnqueueCancelled(t *testing.T) {
	t.Parallel()
	o := queueOf(mcpproxy.NewBudget(1 << 20))
	ctx, cancel := context.WithCancel(t.Context())
	o.Enqueue(ctx, frameOf(1<<20), nil)
	done := make(chan struct{})
	go func() {
		o.Enqueue(ctx, frameOf(1<<20), nil)
		close(done)
	}()
	select {
	case <-done:
		t.Fatal("there was room")
	case <-time.After(50 * time.Millisecond):
	}
	cancel()
	<-done
	if len(o.frames) != 1 {
		t.Errorf("%d frames", len(o.frames))
	}
}
