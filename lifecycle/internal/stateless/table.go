package stateless

import (
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

	unanswered sync.WaitGroup // has each request until it is answered

	mu       sync.Mutex
	open     map[string]*clientRequest
	queue    []*clientRequest // calls whose turn has not come
	waiting  requestSum       // requests that are no calls
	answered requestSum       // of these, those that were claimed, and whose answer is being sent
	running  int              // calls that have a slot
	ended    bool             // the session is over: requests that still come are dropped
}

// requestSum counts requests, and the bytes of their frames.
type requestSum struct {
	n    int
	size int64
}

func (s *requestSum) add(rq *clientRequest, n int) {
	s.n += n
	s.size += int64(n) * rq.frame.Size
}

// hasRoom reports whether there are not too many. One is not, however large it is.
func (s *requestSum) hasRoom() bool {
	return s.n <= 1 || s.n <= maxWaiting && s.size <= maxWaitingSize
}

func (t *requestTable) init(c *session.Client, maxCalls int) {
	t.client, t.maxCalls, t.open = c, maxCalls, map[string]*clientRequest{}
	c.Logs.Open = t.wantsLogs
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
	t.unanswered.Add(1)
	if !rq.isCall() {
		t.waiting.add(rq, 1)
	}
	return true
}

// What the client may have waiting: calls whose turn has not come, and as much again of other requests.
// One waits in any case, and those whose answers the client does not take count by themselves. At worst
// that is 3 × maxWaiting × 10 KiB (a goroutine and an envelope) and
// 3 × maxWaitingSize × 3 (a frame, its names and a copy for the process), which is 66 MiB.
const (
	maxWaiting     = 1024
	maxWaitingSize = 4 << 20 // bytes of their frames
)

// hasRoom reports whether a request that is no call and was added may be worked on.
func (t *requestTable) hasRoom() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting.hasRoom() && t.answered.hasRoom()
}

// hasRoomFor reports whether a call may wait for its turn. The caller holds mu.
func (t *requestTable) hasRoomFor(rq *clientRequest) bool {
	size := rq.frame.Size
	for _, call := range t.queue {
		size += call.frame.Size
	}
	return len(t.queue) == 0 || len(t.queue) < maxWaiting && size <= maxWaitingSize
}

// admit gives a call its turn, which may come later. It returns false if too many wait.
func (t *requestTable) admit(rq *clientRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	rq.turn = make(chan struct{})
	switch {
	case t.running < t.maxCalls:
		t.running++
		close(rq.turn)
	case !t.hasRoomFor(rq):
		return false
	default:
		t.queue = append(t.queue, rq)
	}
	return true
}

// leave takes a call that is over out of the queue, or gives its turn to the one that has waited longest.
func (t *requestTable) leave(rq *clientRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, rq); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
		return
	}
	if len(t.queue) == 0 {
		t.running--
		return
	}
	close(t.queue[0].turn)
	t.queue = slices.Delete(t.queue, 0, 1)
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

// wantsLogs reports whether a request without an answer asks for log messages.
func (t *requestTable) wantsLogs() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, rq := range t.open {
		if rq.logs {
			return true
		}
	}
	return false
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
	if !rq.isCall() { // its client may have the answer, and send more, before finish
		t.waiting.add(rq, -1)
		t.answered.add(rq, 1)
	}
	return true
}

func (t *requestTable) finish(rq *clientRequest) *worker {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !rq.isCall() {
		t.answered.add(rq, -1)
	}
	t.unanswered.Done()
	return rq.worker
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
