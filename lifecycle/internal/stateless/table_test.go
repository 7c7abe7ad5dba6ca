//go:build unix

package stateless

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
// entrusted to a worker or waits for a slot. Then it waits no more, and nothing is counted.
func TestClaimOnce(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 1)
	if table.admit(queuedCall{t.Context(), request(-1)}) != admitted {
		t.Fatal("the first call has no slot")
	}
	for i := range 40 {
		rq, w := request(i), &worker{requests: map[string]*clientRequest{}}
		if !table.add(rq) || table.add(request(i)) {
			t.Fatal("an id is in the table twice, or not at all")
		}
		waits := i%2 == 0
		if waits && (table.admit(queuedCall{t.Context(), rq}) != queued || !table.isQueued(rq) || rq.cost == 0) {
			t.Fatal("a call without a slot is not queued")
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
		if !waits {
			all.Go(func() { table.admit(queuedCall{t.Context(), rq}) })
		}
		time.Sleep(3 * time.Millisecond)
		early := claimed.Load()
		table.mu.Unlock()
		table.mu.Lock()
		time.Sleep(time.Millisecond)
		table.mu.Unlock()
		all.Wait()
		if n := claimed.Load(); n != 1 || early != 0 {
			t.Fatalf("request %d was claimed %d times, %d of them without the lock", i, n, early)
		}
		if left := fmt.Sprint(len(table.open), table.answering, len(table.queue), rq.cost); left != "0 0 0 0" {
			t.Fatalf("request %d is answered, and the table is not empty: %s", i, left)
		}
	}
	if rq := request(0); table.admit(queuedCall{t.Context(), rq}) != queued || table.isQueued(rq) {
		t.Error("a call that is not in the table is queued")
	}
}

// TestWaitAnswered: the end waits for each request until it is answered, not only until it is claimed.
func TestWaitAnswered(t *testing.T) {
	t.Parallel()
	table, request := tableOf(t, 2)
	synctest.Test(t, func(t *testing.T) {
		first, second := request(1), request(2)
		table.add(first)
		table.add(second)
		over := false
		go func() { table.waitAnswered(); over = true }()
		for i, step := range []func(){
			func() {},
			func() { table.claim(first) },
			func() { table.finish(first) },
			func() { table.claim(second) },
		} {
			if step(); !waits(&over) {
				t.Fatalf("it does not wait after step %d", i)
			}
		}
		if table.finish(second); waits(&over) {
			t.Error("it waits when all are answered")
		}
	})
}

// waits reports whether a goroutine of the bubble has not set over.
func waits(over *bool) bool { synctest.Wait(); return !*over }

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
