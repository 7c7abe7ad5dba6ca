//go:build unix

package stateless

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestSendQueue: tryEnqueue does not wait, and enqueue waits until there is room or the
// queue is closed.
func TestSendQueue(t *testing.T) {
	t.Parallel()
	o := queueOf(mcpproxy.NewBudget(1 << 20))
	o.enqueue(t.Context(), frameOf(1<<20), nil) // alone, it may be larger
	if o.tryEnqueue(frameOf(1)) {
		t.Error("there is room for more")
	}
	small, n := queueOf(mcpproxy.NewBudget(1<<20)), 0
	for small.tryEnqueue(frameOf(1)) {
		n++
	}
	if most := 1 << 19 / int(frameOf(1).Cost()); n != most {
		t.Errorf("%d small frames wait, want %d", n, most)
	}
	done := make(chan struct{})
	go func() {
		o.enqueue(t.Context(), frameOf(1), nil)
		close(done)
	}()
	select {
	case <-done:
		t.Error("put did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	o.close()
	<-done
	if len(o.frames) != 1 || !o.tryEnqueue(frameOf(1)) {
		t.Error("something is queued after the end")
	}
}

func queueOf(b *mcpproxy.Budget) *sendQueue {
	o := new(sendQueue)
	o.init(&session.CountingWriter{}, b.Share(0))
	return o
}

func frameOf(n int) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", n) + `"}`))
}

// TestWorkerThatDoesNotRead: a worker that reads nothing delays no other, and its call can
// be cancelled.
func TestWorkerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Greet()
	p.Send(sessiontest.CallOf("1", "deaf", "{}"))
	sessiontest.Eventually(t, "it has begun", func() bool { return strings.Contains(f.Saw("deaf", 0), "deaf\n") })
	for range 3 {
		p.Send(`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 3<<20) + `"}`)
	}
	p.Send(sessiontest.CallOf("2", "echo", "{}"))
	p.Answer("2")
	p.Send(cancel("1"), sessiontest.Legacy("3", "ping", "{}"))
	p.Answer("3")
	f.Of("deaf")[0].Ended(t)
	p.Nothing()
}

// TestEnqueueCancelled: enqueue returns when its context is done.
func TestEnqueueCancelled(t *testing.T) {
	t.Parallel()
	o := queueOf(mcpproxy.NewBudget(1 << 20))
	ctx, cancel := context.WithCancel(t.Context())
	o.enqueue(ctx, frameOf(1<<20), nil)
	done := make(chan struct{})
	go func() {
		o.enqueue(ctx, frameOf(1<<20), nil)
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
