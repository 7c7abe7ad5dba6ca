package stateless

import (
	"bytes"
	"strconv"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// serverRequest is a request of a worker to the client. Each worker counts its requests
// from 0, so the client gets an id of ours, and the answer gets the worker's id back.
type serverRequest struct {
	worker *worker
	id     []byte // the worker's
	token  []byte // the worker's progress token, or nil
	call   mcpproxy.Call
}

// Bounds of what workers can make us keep. A client may never answer.
const (
	maxWorkerRequests = 1000 // requests of one worker
	maxRequestIDLen   = 4096 // bytes of a request's id and progress token
	serverRequestCost = 512  // bytes of memory, without its texts
)

// cost returns the memory of a request.
func (r *serverRequest) cost() int64 {
	return int64(serverRequestCost + len(r.id) + len(r.token) + len(r.call.Method))
}

// forwardServerRequest gives a worker's request an id for the client. It reports false if
// too many requests wait for the client.
func (s *statelessSession) forwardServerRequest(w *worker, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	r := &serverRequest{worker: w, id: bytes.Clone(e.ID), token: bytes.Clone(e.Token), call: mcpproxy.Call{Method: bytes.Clone(e.Method)}}
	s.mu.Lock()
	if w.openRequests >= maxWorkerRequests || !w.asked.Take(r.cost()) {
		s.mu.Unlock()
		return false
	}
	w.openRequests++
	s.lastServerRequest++
	n := s.lastServerRequest
	s.serverRequests[n] = r
	s.mu.Unlock()
	ours := strconv.AppendInt(nil, n, 10)
	f.Replace(e.IDAt, ours)
	if r.token != nil {
		f.Replace(e.TokenAt, ours)
	}
	return true
}

// OnClientResponse passes the client's answer to the worker that has asked.
func (s *statelessSession) onClientResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	r := s.takeServerRequest(e.ID)
	if r == nil { // no request has this id, or not any more
		f.Close()
		return
	}
	r.worker.server.OnClientResponse(f, e, &r.call)
	f.Replace(e.IDAt, r.id)
	r.worker.trySend(f) // waiting could be a deadlock: the worker may wait for us to read
}

// takeServerRequest removes and returns the request that the client knows by an id, or
// nil.
func (s *statelessSession) takeServerRequest(id []byte) *serverRequest {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.serverRequests[n]
	s.dropPending(n)
	return r
}

// dropPending removes a worker's request, if it is there. The caller holds mu.
func (s *statelessSession) dropPending(n int64) {
	if r := s.serverRequests[n]; r != nil {
		r.worker.openRequests--
		r.worker.asked.Give(r.cost())
		delete(s.serverRequests, n)
	}
}

// tokenOwner returns the worker that has set a progress token, and restores its own token
// in the frame.
func (s *statelessSession) tokenOwner(f *mcpproxy.Frame, token []byte, at mcpproxy.Span) *worker {
	n, err := strconv.ParseInt(string(token), 10, 64)
	s.mu.Lock()
	r := s.serverRequests[n]
	s.mu.Unlock()
	if err != nil || r == nil || r.token == nil {
		return nil
	}
	f.Replace(at, r.token)
	return r.worker
}

// cancelServerRequest handles a worker's cancellation of its own request, and puts our id
// into it. It reports false if the client has no such request.
func (s *statelessSession) cancelServerRequest(w *worker, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, r := range s.serverRequests {
		if r.worker == w && mcpproxy.IDKey(r.id) == mcpproxy.IDKey(e.Cancels) {
			s.dropPending(n)
			f.Replace(e.CancelsAt, strconv.AppendInt(nil, n, 10))
			return true
		}
	}
	return false
}

// cancelServerRequests tells the client that the requests of a worker that is gone need no
// answer. The client may be showing one to a person.
func (s *statelessSession) cancelServerRequests(w *worker) {
	s.mu.Lock()
	var open []int64
	for n, r := range s.serverRequests {
		if r.worker == w {
			open = append(open, n)
			s.dropPending(n)
		}
	}
	s.mu.Unlock()
	for _, n := range open {
		s.noteSendError(s.client.Proxy.Client.Inject(session.Cancellation(strconv.AppendInt(nil, n, 10), "the process of the call has ended")))
	}
}
