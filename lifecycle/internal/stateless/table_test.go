//go:build unix

package stateless

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// tableOf returns a table of its own, and a function that makes requests for it.
func tableOf(t *testing.T, maxCalls int) (*requestTable, func(id int) *clientRequest) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	testkit.Must(t, err)
	t.Cleanup(func() { null.Close() })
	s := idleSession(t, session.Session{In: null, Out: null, Err: null}, Options{MaxCalls: maxCalls})
	return &s.dispatcher.table, func(id int) *clientRequest {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"tools/call"}`, id))
		return &clientRequest{id: f.Messages[0].ID, frame: f, done: make(chan struct{}), cancel: func() {}}
	}
}

// TestClaimOnce: of several goroutines that want to answer a request one may, while the request is
// entrusted to a worker.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 1)
	for i := range 40 {
		rq, w := request(i), &worker{requests: map[string]*clientRequest{}}
		if !table.add(rq) || table.add(request(i)) {
			t.Fatal("an id is in the table twice, or not at all")
		}
		var claimed atomic.Int32
		var all sync.WaitGroup
		// A goroutine that has waited for a mutex for 1 ms gets it before one that unlocks and locks it
		// again. So if claim unlocked between looking and acting, all would look before one acts.
		table.mu.Lock()
		for range 4 {
			all.Go(func() {
				if table.claim(rq) {
					claimed.Add(1)
					table.finish(rq)
				}
			})
		}
		all.Go(func() { table.entrust(rq, w) })
		time.Sleep(3 * time.Millisecond)
		early := claimed.Load()
		table.mu.Unlock()
		table.mu.Lock()
		time.Sleep(time.Millisecond)
		table.mu.Unlock()
		all.Wait()
		if n := claimed.Load(); n != 1 || early != 0 || len(table.open) != 0 {
			t.Fatalf("request %d was claimed %d times, %d of them without the lock; %d are open", i, n, early, len(table.open))
		}
	}
}

// TestEntrust: a worker gets a request that is open, and none that was answered, even if another
// request has its id by now.
func TestEntrust(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 2)
	w := &worker{requests: map[string]*clientRequest{}}
	open, answered := request(1), request(2)
	table.add(open)
	table.add(answered)
	table.claim(answered)
	table.finish(answered)
	refused := func() bool {
		f, _ := table.entrust(answered, w)
		return f == nil && answered.worker == nil && len(w.requests) == 0 && !w.active
	}
	if !refused() {
		t.Error("a worker has a request that was answered")
	}
	again := request(2)
	table.add(again)
	if !refused() {
		t.Error("a worker has a request that was answered, whose id another one has")
	}
	for i, rq := range []*clientRequest{open, again} {
		if f, beside := table.entrust(rq, w); f == nil || beside != (i > 0) || w.requests[rq.key()] != rq || table.workerOf(rq) != w || !w.active {
			t.Errorf("the worker has no request %s, or beside is %t", rq.id, beside)
		}
	}
}
