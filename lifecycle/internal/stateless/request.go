package stateless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientRequest is a request of the client that is not answered yet.
type clientRequest struct {
	id           []byte
	method, tool string
	era          mcpproxy.Era
	frame        *mcpproxy.Frame
	start        time.Time
	batch        *mcpproxy.Batch // the batch that it came in, or nil
	info         *clientInfo     // of the client when the request came, or nil

	done       chan struct{} // closed when it is answered or cancelled
	onResponse func(f *mcpproxy.Frame, e *mcpproxy.Envelope)
	worker     *worker // that works on it; under statelessSession.mu
	cancel     context.CancelFunc
	cost       int64 // counted in statelessSession.kept; under its mutex
	generation int   // of the list cache when it came; under its mutex
}

// key returns the key of the request in tables.
func (r *clientRequest) key() string { return mcpproxy.IDKey(r.id) }

// call returns the request in the form that diagnoses take.
func (r *clientRequest) call() *mcpproxy.Call {
	return &mcpproxy.Call{ID: r.id, Method: []byte(r.method), Tool: []byte(r.tool), Start: r.start}
}

// cacheName returns the name under which the answer is cached. ok is false if it must not
// be cached.
func (r *clientRequest) cacheName() (name string, ok bool) {
	e := &r.frame.Messages[0]
	if r.method == "initialize" || r.method == "server/discover" {
		return r.method, true // what they say of the client is part of the entry's key
	}
	return catalog.Request(r.method, r.frame.Slice(e.Params))
}

// addRequest enters a request into the table. ok is false if the session is over, or if the id is
// in use: an answer could not say which of the two requests it is for.
func (s *statelessSession) addRequest(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) (*clientRequest, context.Context, bool) {
	e := &f.Messages[0]
	rq := &clientRequest{
		id: append([]byte(nil), e.ID...), method: string(e.Method), era: e.Era(), frame: f,
		start: time.Now(), batch: batch, done: make(chan struct{}),
	}
	if rq.method == "tools/call" {
		rq.tool = string(e.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[rq.key()] != nil || s.ended {
		return nil, nil, false
	}
	ctx, rq.cancel = context.WithCancel(ctx)
	s.requests[rq.key()] = rq
	return rq, ctx, true
}

// requestCost is the memory of a request that waits, without its frame: its goroutine above all.
const requestCost = 8 << 10

// keep counts the memory of a request that waits for a process. It returns false if there is none
// left, unless the request is to be kept in any case. The caller holds mu.
func (s *statelessSession) keep(rq *clientRequest, always bool) bool {
	cost := requestCost + 2*rq.frame.Cost() // a process gets a copy
	switch {
	case always:
		s.kept.Add(cost)
	case !s.kept.Take(cost):
		return false
	}
	rq.cost = cost
	return true
}

// forget takes back what keep has counted. The caller holds mu.
func (s *statelessSession) forget(rq *clientRequest) {
	s.kept.Give(rq.cost)
	rq.cost = 0
}

// claim gives the first caller, and only that one, the right to answer a request.
func (s *statelessSession) claim(rq *clientRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[rq.key()] != rq {
		return false
	}
	delete(s.requests, rq.key())
	s.answering++
	s.dequeue(rq)
	return true
}

// closeRequest ends everything that was begun for a claimed request.
func (s *statelessSession) closeRequest(rq *clientRequest) {
	close(rq.done)
	rq.cancel()
	s.mu.Lock()
	w := rq.worker
	s.forget(rq)
	if s.answering--; len(s.requests)+s.answering == 0 {
		s.idle.Broadcast()
	}
	s.mu.Unlock()
	if w != nil {
		w.release(rq)
	}
	rq.frame.Close()
}

// forwardResponse sends the client a worker's answer, with the edits that were made in the
// frame.
func (s *statelessSession) forwardResponse(rq *clientRequest, f *mcpproxy.Frame) {
	if !s.claim(rq) {
		return
	}
	defer s.closeRequest(rq)
	if rq.batch == nil {
		s.sendToClient(f)
		return
	}
	if rq.batch.Send(f) != nil {
		s.noteSendError(rq.batch.Inject(diagnostics.Diagnosis{
			Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.serverName, Tool: rq.tool,
			Explain: diagnostics.PageMessage,
			What:    fmt.Sprintf("server %q: an answer of %d MiB does not fit into that of a batch", s.serverName, f.Size>>20),
			Fix:     "call it outside of a batch",
		}.ErrorFrame(rq.id)))
	}
}

// respond sends an answer of ours.
func (s *statelessSession) respond(rq *clientRequest, line []byte) {
	if s.claim(rq) {
		s.respondClaimed(rq, line)
	}
}

// respondClaimed sends an answer of ours to a request that the caller has claimed.
func (s *statelessSession) respondClaimed(rq *clientRequest, line []byte) {
	defer s.closeRequest(rq)
	if rq.batch == nil {
		s.noteSendError(s.client.Proxy.Client.Inject(line))
		return
	}
	s.noteSendError(rq.batch.Inject(line))
}

// dropRequest closes a request that gets no answer.
func (s *statelessSession) dropRequest(rq *clientRequest) {
	if s.claim(rq) {
		s.dropClaimed(rq)
	}
}

// dropClaimed closes a request that gets no answer and that the caller has claimed.
func (s *statelessSession) dropClaimed(rq *clientRequest) {
	if rq.batch != nil {
		s.noteSendError(rq.batch.Drop())
	}
	s.closeRequest(rq)
}

// fail answers with a diagnosis.
func (s *statelessSession) fail(rq *clientRequest, d diagnostics.Diagnosis) {
	s.respond(rq, d.ErrorFrame(rq.id))
}

// respondWith answers with a "result" or an "error" from the cache or of our own.
func (s *statelessSession) respondWith(rq *clientRequest, name string, value []byte) {
	if d := s.client.Leaks.Of(s.currentProfile()).CheckValue(value, rq.tool); d != nil {
		s.client.Announce(*d)
		s.fail(rq, *d)
		return
	}
	s.respond(rq, mcpproxy.NewResponse(rq.id, name, value))
}

// sendToClient sends the client a frame of a worker. It adds a missing line end, since the
// session goes on.
func (s *statelessSession) sendToClient(f *mcpproxy.Frame) {
	s.noteSendError(s.client.Proxy.Client.Send(f))
	s.noteSendError(s.client.Proxy.Client.EndLine())
}

// noteSendError ends the session if err says that the client no longer reads.
func (s *statelessSession) noteSendError(err error) {
	if err != nil && !errors.Is(err, mcpproxy.ErrGone) { // ErrGone is about the frame
		s.client.Gone.Set()
	}
}

// decline answers that a method is not available in a stateless session.
func (s *statelessSession) decline(rq *clientRequest, why string) {
	data := fmt.Appendf(nil, `{"dev.mcp-jail/stateless":{"server":%s,"method":%s}}`, session.JSONString(s.serverName), session.JSONString(rq.method))
	s.respondWith(rq, "error", mcpproxy.ErrorValue(-32601, "mcp-jail: "+why, data))
}
