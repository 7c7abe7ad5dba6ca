package lifecycle

import (
	"bytes"
	"strconv"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// serverRequest is a request of a process to the client. Every process counts its own from
// 0, so the client sees an id of ours, and the process's comes back in the answer.
type serverRequest struct {
	worker *worker
	id     []byte // the process's
	token  []byte // its progress token; nil when it wants to hear of no progress
	call   mcpproxy.Call
}

// What bounds what processes can make us remember. A client may never answer.
const (
	maxServerRequests = 10000 // requests
	maxWorkerRequests = 1000  // of one process: the others have theirs
	maxRequestIDLen   = 4096  // bytes of the id and the progress token of one
)

// forwardServerRequest gives a request of a process its id for the client. It reports false when too
// many wait for the client already.
func (s *statelessSession) forwardServerRequest(w *worker, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	r := &serverRequest{worker: w, id: bytes.Clone(e.ID), token: bytes.Clone(e.Token), call: mcpproxy.Call{Method: bytes.Clone(e.Method)}}
	s.mu.Lock()
	if len(s.serverRequests) >= maxServerRequests || w.openRequests >= maxWorkerRequests {
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

// onClientResponse takes the client's answer to the process that has asked.
func (s *statelessSession) onClientResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	r := s.takeServerRequest(e.ID)
	if r == nil { // nobody waits (any more)
		f.Close()
		return
	}
	r.worker.server.onReply(f, e, &r.call)
	f.Replace(e.IDAt, r.id)
	r.worker.trySend(f) // it would wait for this, and we for it
}

// takeServerRequest removes the request of a process that the client knows by an id.
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

// dropPending takes out a request of a process, if it is there. The caller holds mu.
func (s *statelessSession) dropPending(n int64) {
	if r := s.serverRequests[n]; r != nil {
		r.worker.openRequests--
		delete(s.serverRequests, n)
	}
}

// tokenOwner finds the process whose progress token this is, and puts its own back.
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

// cancelServerRequest takes a process's word that it no longer waits for one of its requests,
// and puts our id into it. It reports false when the client has heard of none.
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

// cancelServerRequests tells the client that a process which is gone waits for nothing any
// more: the client may be showing a question of its to somebody.
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
		line := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), n, 10)
		s.noteSendError(s.client.proxy.Client.Inject(append(line, `,"reason":"the process of the call has ended"}}`...)))
	}
}
