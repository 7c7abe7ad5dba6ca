package stateless

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// requestTable has the client's requests that are not answered, and which of its calls run or wait.
//
// Invariant: a request is open until a goroutine claims it, and only the goroutine that has claimed
// it answers it. So each request is answered once, or, if the client has cancelled it, not at all.
type requestTable struct {
	client   *session.Client
	maxCalls int // that run at once

	mu        sync.Mutex
	idle      sync.Cond // open has become empty, and answering 0
	open      map[string]*clientRequest
	answering int             // requests that were claimed and are not answered yet
	queue     []queuedCall    // calls that wait for a slot
	kept      *mcpproxy.Share // what they take, and other requests
	running   int             // calls that have a slot
	ended     bool            // the session is over: requests that still come are dropped
}

// queuedCall is a call in the queue.
type queuedCall struct {
	ctx context.Context
	rq  *clientRequest
}

func (t *requestTable) init(c *session.Client, maxCalls int) {
	t.client, t.maxCalls, t.open = c, maxCalls, map[string]*clientRequest{}
	t.kept, t.idle.L = c.Proxy.Memory.Share(mcpproxy.Memory/8), &t.mu
}

// add enters a request. It returns false if the session is over, or if the id is in use: an answer
// could not say which of the two requests it is for.
func (t *requestTable) add(rq *clientRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[rq.key()] != nil || t.ended {
		return false
	}
	t.open[rq.key()] = rq
	return true
}

// requestCost is the memory of a request that waits, without its frame: its goroutine above all.
const requestCost = 8 << 10

// keep counts the memory of a request that waits for a process. It returns false if there is none
// left, unless the request is to be kept in any case. The caller holds mu.
func (t *requestTable) keep(rq *clientRequest, always bool) bool {
	cost := requestCost + 2*rq.frame.Cost() // a process gets a copy
	switch {
	case always:
		t.kept.Add(cost)
	case !t.kept.Take(cost):
		return false
	}
	rq.cost = cost
	return true
}

// forget takes back what keep has counted. The caller holds mu.
func (t *requestTable) forget(rq *clientRequest) {
	t.kept.Give(rq.cost)
	rq.cost = 0
}

// keepRequest is keep for a request that is not a call, and so waits for no slot.
func (t *requestTable) keepRequest(rq *clientRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[rq.key()] != rq || t.keep(rq, false)
}

// admission is what becomes of a call.
type admission int

const (
	admitted admission = iota // it has a slot
	queued                    // it waits for one, or was cancelled before
	refused                   // there is no memory for it
)

func (t *requestTable) admit(call queuedCall) admission {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.running < t.maxCalls:
		t.running++
		return admitted
	case t.open[call.rq.key()] != call.rq: // cancelled or timed out meanwhile
		return queued
	case !t.keep(call.rq, len(t.queue) == 0):
		return refused
	}
	t.queue = append(t.queue, call)
	return queued
}

// next passes a slot to the call that has waited longest. If none waits, the slot becomes free.
func (t *requestTable) next() (call queuedCall, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.running--
		return queuedCall{}, false
	}
	call = t.queue[0]
	t.dequeue(call.rq)
	return call, true
}

// dequeue removes a request from the queue, if it is there. The caller holds mu.
func (t *requestTable) dequeue(rq *clientRequest) {
	if i := t.place(rq); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
		t.forget(rq)
	}
}

// place returns the index of a request in the queue, or -1. The caller holds mu.
func (t *requestTable) place(rq *clientRequest) int {
	return slices.IndexFunc(t.queue, func(c queuedCall) bool { return c.rq == rq })
}

func (t *requestTable) isQueued(rq *clientRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.place(rq) >= 0
}

// entrust gives a request to a worker, and returns the copy of its frame for the worker. beside says
// that the worker has others. The copy is nil if the request was answered or cancelled meanwhile.
func (t *requestTable) entrust(rq *clientRequest, w *worker) (frame *mcpproxy.Frame, beside bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[rq.key()] != rq {
		return nil, false
	}
	// All of it under mu: finish takes the worker from the request, and then the frame is closed.
	rq.worker = w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[rq.key()] = rq
	w.active = true
	return rq.frame.Clone(), len(w.requests) > 1
}

func (t *requestTable) find(id []byte) (*clientRequest, *worker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rq := t.open[mcpproxy.IDKey(id)]
	if rq == nil {
		return nil, nil
	}
	return rq, rq.worker
}

func (t *requestTable) workerOf(rq *clientRequest) *worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	return rq.worker
}

// claim gives the first caller, and only that one, the right to answer a request.
func (t *requestTable) claim(rq *clientRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[rq.key()] != rq {
		return false
	}
	delete(t.open, rq.key())
	t.answering++
	t.dequeue(rq)
	return true
}

func (t *requestTable) finish(rq *clientRequest) *worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(rq)
	if t.answering--; len(t.open)+t.answering == 0 {
		t.idle.Broadcast()
	}
	return rq.worker
}

func (t *requestTable) waitAnswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.open)+t.answering > 0 {
		t.idle.Wait()
	}
}

// openRequests returns the requests without an answer, in the order in which they came.
func (t *requestTable) openRequests() []*clientRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.open), func(a, b *clientRequest) int { return a.start.Compare(b.start) })
}

// goTask starts a task of the session. It is for the goroutine that reads the client,
// which is not a task itself. When the session is over it does nothing.
func (t *requestTable) goTask(task func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.client.Tasks.Go(task)
	}
}

func (t *requestTable) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}
