//go:build unix

package lifecycle

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestSendQueue: tryEnqueue does not wait, and enqueue waits until there is room or the
// queue is closed.
func TestSendQueue(t *testing.T) {
	t.Parallel()
	var o sendQueue
	o.init(&countingWriter{})
	o.enqueue(t.Context(), &mcpproxy.Frame{Size: maxSendQueue + 1}, nil) // alone, it may be larger
	if o.tryEnqueue(&mcpproxy.Frame{Size: 1}) {
		t.Error("there is room for more")
	}
	var small sendQueue
	small.init(&countingWriter{})
	n := 0
	for small.tryEnqueue(&mcpproxy.Frame{Size: 50}) {
		n++
	}
	if most := maxSendQueue / frameBytes; n > most || n < most/2 {
		t.Errorf("%d small frames wait, want %d at most", n, most)
	}
	done := make(chan struct{})
	go func() {
		o.enqueue(t.Context(), &mcpproxy.Frame{Size: 1}, nil)
		close(done)
	}()
	select {
	case <-done:
		t.Error("put did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	o.close()
	<-done
	if len(o.frames) != 1 || !o.tryEnqueue(&mcpproxy.Frame{Size: 1}) {
		t.Error("something is queued after the end")
	}
}

// TestWorkerThatDoesNotRead: a worker that reads nothing delays no other, and its call can
// be cancelled.
func TestWorkerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "deaf", "{}"))
	eventually(t, "it has begun", func() bool { return strings.Contains(f.saw("deaf", 0), "deaf\n") })
	for range 3 {
		p.send(`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 3<<20) + `"}`)
	}
	p.send(callOf("2", "echo", "{}"))
	p.answer("2")
	p.send(cancel("1"), legacy("3", "ping", "{}"))
	p.answer("3")
	f.of("deaf")[0].ended(t)
	p.nothing()
}

// TestEnqueueCancelled: enqueue returns when its context is done.
func TestEnqueueCancelled(t *testing.T) {
	t.Parallel()
	var o sendQueue
	o.init(&countingWriter{})
	ctx, cancel := context.WithCancel(t.Context())
	frame := func() *mcpproxy.Frame {
		return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", maxSendQueue/2) + `"}`))
	}
	o.enqueue(ctx, frame(), nil)
	done := make(chan struct{})
	go func() {
		o.enqueue(ctx, frame(), nil)
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
