//go:build unix

package stateless

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// tableOf returns a table of its own, and a function that makes requests for it.
func tableOf(t *testing.T, maxCalls int) (*requestTable, func(id int) *clientRequest) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	s := idleSession(t, session.Session{In: null, Out: null, Err: null}, Options{MaxCalls: maxCalls})
	return &s.dispatcher.table, func(id int) *clientRequest {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"tools/call"}`, id))
		return &clientRequest{id: f.Messages[0].ID, frame: f, done: make(chan struct{}), cancel: func() {}}
	}
}

// TestClaimOnce: of several goroutines that want to answer a request one may, while the request is
// entrusted to a worker or waits for a slot.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 1)
	w := &worker{requests: map[string]*clientRequest{}}
	for i := range 200 {
		rq := request(i)
		if !table.add(rq) || table.add(request(i)) {
			t.Fatal("an id is in the table twice, or not at all")
		}
		var claimed, finished atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if table.claim(rq) {
					claimed.Add(1)
					table.finish(rq)
					finished.Add(1)
				}
			})
		}
		all.Go(func() { table.entrust(rq, w) })
		all.Go(func() { table.admit(queuedCall{context.Background(), rq}) })
		table.waitAnswered()
		all.Wait()
		if claimed.Load() != 1 || finished.Load() != 1 || table.isQueued(rq) {
			t.Fatalf("request %d was claimed %d times", i, claimed.Load())
		}
		delete(w.requests, rq.key())
		for table.running > 0 { // admit may have given it the slot
			table.next()
		}
	}
	if rq := request(0); table.admit(queuedCall{t.Context(), rq}) != admitted || table.admit(queuedCall{t.Context(), rq}) != queued || table.isQueued(rq) {
		t.Error("a call that is not in the table is queued")
	}
}

// TestQueueOrder: slots go to the calls that have waited longest, and to none that was answered.
func TestQueueOrder(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 2)
	var calls []*clientRequest
	for i := range 6 {
		rq := request(i)
		calls = append(calls, rq)
		table.add(rq)
		if got := table.admit(queuedCall{t.Context(), rq}); (got == admitted) != (i < 2) || got == refused {
			t.Errorf("call %d: %v", i, got)
		}
	}
	table.claim(calls[3])
	table.finish(calls[3])
	for _, want := range []int{2, 4, 5} {
		if call, ok := table.next(); !ok || call.rq != calls[want] {
			t.Errorf("the slot did not go to call %d", want)
		}
	}
	for range 2 {
		if _, ok := table.next(); ok {
			t.Error("a slot went to a call that does not wait")
		}
	}
	if table.running != 0 || len(table.queue) != 0 {
		t.Errorf("%d run, %d wait", table.running, len(table.queue))
	}
	table.end()
	table.goTask(func() { t.Error("a task began after the end") })
	if table.add(request(9)) {
		t.Error("a request came in after the end")
	}
}
