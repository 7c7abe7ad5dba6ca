package mediator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWorkerPool checks that a request goes to an idle worker, else to a new worker, and else
// waits in order. At maxHeld requests the pool refuses one more, unless the caller of a waiting
// request is gone.
func TestWorkerPool(t *testing.T) {
	gone := map[*request]bool{}
	stale := func(r *request) bool { return gone[r] }
	fresh := func() *request { return &request{bases: [2]int{-1, -1}} }
	c := workerPool{}
	for range MaxWorkers {
		testkit.MustEqual(t, "", c.assign(fresh(), stale), startWorker)
	}
	var waiting []*request
	for range maxHeld - 1 {
		r := fresh()
		testkit.MustEqual(t, "", c.assign(r, stale), assigned)
		waiting = append(waiting, r)
	}
	if !c.sleep() || c.sleep() {
		t.Error("a sleeping request does not count as held")
	}
	testkit.Equal(t, "", c.assign(fresh(), stale), turnAway)
	gone[waiting[1]] = true
	again := fresh()
	testkit.Equal(t, "", c.assign(again, stale), assigned)
	waiting = append(slices.Delete(waiting, 1, 2), again)
	w := &worker{}
	for i, want := range waiting {
		testkit.MustEqual(t, fmt.Sprintf("the request at position %d is another one", i), c.next(w), want)
	}
	c.wake()
	testkit.Equal(t, fmt.Sprintf("%d wait, %d sleep", len(c.waiting), c.asleep), len(c.waiting)+c.asleep, 0)
	// The next request goes to the idle worker.
	done := make(chan *request)
	go func() { done <- c.next(w) }()
	testkit.Eventually(t, "the worker is idle", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.idle) == 1 })
	last := fresh()
	if got := c.assign(last, stale); got != assigned || <-done != last {
		t.Error(got)
	}
}

// TestWorkerPoolSingle checks that where the workers would share a umask and a directory, one of them
// gets all requests, in order.
func TestWorkerPoolSingle(t *testing.T) {
	c := workerPool{single: true}
	none := func(*request) bool { return false }
	fresh := func() *request { return &request{bases: [2]int{-1, -1}} }
	c.started = 1
	first, second := fresh(), fresh()
	for _, r := range []*request{first, second} {
		testkit.MustEqual(t, "", c.assign(r, none), assigned)
	}
	w := &worker{}
	if c.next(w) != first || c.next(w) != second || c.started != 1 {
		t.Error("the worker does not get the requests in their order")
	}
}
