package stateless

import (
	"bytes"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// serverRequest is a request of a worker to the client. Each worker counts its requests
// from 0, so the client gets an id that we chose, and the answer gets the worker's id back.
type serverRequest struct {
	worker *worker
	id     []byte // the worker's
	token  []byte // the worker's progress token, or nil
	call   mcpproxy.Call
}

// serverRequests are the requests of workers that the client has not answered.
type serverRequests struct {
	session *statelessSession
	client  *session.Client

	mu   sync.Mutex               // also of worker.openRequests
	open map[int64]*serverRequest // by the ids that the client sees
	last int64
}

// maxWorkerRequests is how many requests of one worker are open; a client may never answer. Each has an
// id, a progress token and a method of at most MaxID bytes, so at worst they take 1 MiB.
const maxWorkerRequests = 256

func (a *serverRequests) forward(w *worker, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	r := &serverRequest{worker: w, id: bytes.Clone(e.ID), token: bytes.Clone(e.Token), call: mcpproxy.Call{Method: bytes.Clone(e.Method)}}
	a.mu.Lock()
	if w.openRequests >= maxWorkerRequests {
		a.mu.Unlock()
		return false
	}
	w.openRequests++
	a.last++
	n := a.last
	a.open[n] = r
	a.mu.Unlock()
	ours := strconv.AppendInt(nil, n, 10)
	f.Replace(e.IDAt, ours)
	if r.token != nil {
		f.Replace(e.TokenAt, ours)
	}
	return true
}

func (dp *dispatcher) onClientResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	r := dp.session.serverRequests.take(e.ID)
	if r == nil { // no request has this id, or not any more
		f.Close()
		return
	}
	dp.client.Questions.Others(string(r.call.Method), true)
	r.worker.server.Roots.OnClientResponse(f, e, &r.call)
	f.Replace(e.IDAt, r.id)
	r.worker.trySend(f) // waiting could be a deadlock: the worker may wait for us to read
}

func (a *serverRequests) take(id []byte) *serverRequest {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.open[n]
	a.drop(n)
	return r
}

// drop removes a worker's request, if it is there. The caller holds mu.
func (a *serverRequests) drop(n int64) {
	if r := a.open[n]; r != nil {
		r.worker.openRequests--
		delete(a.open, n)
	}
}

// tokenOwner returns the worker that has set a progress token, and restores its own token
// in the frame.
func (a *serverRequests) tokenOwner(f *mcpproxy.Frame, token []byte, at mcpproxy.Span) *worker {
	n, err := strconv.ParseInt(string(token), 10, 64)
	a.mu.Lock()
	r := a.open[n]
	a.mu.Unlock()
	if err != nil || r == nil || r.token == nil {
		return nil
	}
	f.Replace(at, r.token)
	return r.worker
}

func (a *serverRequests) cancel(w *worker, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for n, r := range a.open {
		if r.worker == w && mcpproxy.IDKey(r.id) == mcpproxy.IDKey(e.Cancels) {
			a.drop(n)
			f.Replace(e.CancelsAt, strconv.AppendInt(nil, n, 10))
			return true
		}
	}
	return false
}

// endWorker tells the client that the requests of a worker that is gone need no
// answer. The client may be showing one to a person.
func (a *serverRequests) endWorker(w *worker) {
	a.mu.Lock()
	var open []int64
	for n, r := range a.open {
		if r.worker == w {
			open = append(open, n)
			a.drop(n)
		}
	}
	a.mu.Unlock()
	slices.Sort(open)
	for _, n := range open {
		a.session.noteSendError(a.client.Proxy.Client.Inject(session.Cancellation(strconv.AppendInt(nil, n, 10), "the process of the call has ended")))
	}
}
