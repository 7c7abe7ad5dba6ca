package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// clientRequest is a request of the client that is not answered yet.
type clientRequest struct {
	id           []byte
	method, tool string
	era          mcpproxy.Era
	frame        *mcpproxy.Frame
	start        time.Time
	batch        *mcpproxy.Batch // of the batch that it came in; nil outside of one
	info         *clientInfo     // how the client had introduced itself when it came; nil: not yet

	done       chan struct{} // closed when it is answered or cancelled
	onResponse func(f *mcpproxy.Frame, e *mcpproxy.Envelope)
	worker     *worker // who works on it; under perCall.mu
	cancel     context.CancelFunc
}

// key is what requests are known by.
func (rq *clientRequest) key() string { return mcpproxy.IDKey(rq.id) }

// call is the request as diagnoses want it.
func (rq *clientRequest) call() *mcpproxy.Call {
	return &mcpproxy.Call{ID: rq.id, Method: []byte(rq.method), Tool: []byte(rq.tool), Start: rq.start}
}

// cacheName is what the answer is kept under; ok is false for what must not be.
func (rq *clientRequest) cacheName() (name string, ok bool) {
	e := &rq.frame.Messages[0]
	if rq.method == "initialize" || rq.method == "server/discover" {
		return rq.method, true // what they say of the client is known already
	}
	return catalog.Request(rq.method, rq.frame.Slice(e.Params))
}

// addRequest remembers a request. It reports false when its id is in use: an answer could
// not say which of the two it is for.
func (p *statelessSession) addRequest(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) (*clientRequest, context.Context, bool) {
	e := &f.Messages[0]
	rq := &clientRequest{
		id: append([]byte(nil), e.ID...), method: string(e.Method), era: e.Era(), frame: f,
		start: time.Now(), batch: batch, done: make(chan struct{}),
	}
	if rq.method == "tools/call" {
		rq.tool = string(e.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests[rq.key()] != nil || p.ended {
		return nil, nil, false
	}
	ctx, rq.cancel = context.WithCancel(ctx)
	p.requests[rq.key()] = rq
	return rq, ctx, true
}

// claim gives the right to answer a request to the first who asks.
func (p *statelessSession) claim(rq *clientRequest) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests[rq.key()] != rq {
		return false
	}
	delete(p.requests, rq.key())
	p.answering++
	p.dequeue(rq)
	return true
}

// closeRequest ends what was begun for a request that has been claimed.
func (p *statelessSession) closeRequest(rq *clientRequest) {
	close(rq.done)
	rq.cancel()
	p.mu.Lock()
	c := rq.worker
	if p.answering--; len(p.requests)+p.answering == 0 {
		p.idle.Broadcast()
	}
	p.mu.Unlock()
	if c != nil {
		c.release(rq)
	}
	rq.frame.Close()
}

// forwardResponse sends the answer of a process: the frame, with the edits that were made.
func (p *statelessSession) forwardResponse(rq *clientRequest, f *mcpproxy.Frame) {
	if !p.claim(rq) {
		return
	}
	defer p.closeRequest(rq)
	if rq.batch == nil {
		p.sendToClient(f)
		return
	}
	if rq.batch.Send(f) != nil {
		p.noteSendError(rq.batch.Inject(diagnostics.Diagnosis{
			Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.serverName, Tool: rq.tool,
			What: fmt.Sprintf("server %q: an answer of %d MiB does not fit into that of a batch", p.serverName, f.Size>>20),
			Fix:  "call it outside of a batch",
		}.ErrorFrame(rq.id)))
	}
}

// respond sends an answer of ours.
func (p *statelessSession) respond(rq *clientRequest, line []byte) {
	if p.claim(rq) {
		p.respondClaimed(rq, line)
	}
}

// respondClaimed is reply, for who has claimed the request.
func (p *statelessSession) respondClaimed(rq *clientRequest, line []byte) {
	defer p.closeRequest(rq)
	if rq.batch == nil {
		p.noteSendError(p.client.proxy.Client.Inject(line))
		return
	}
	p.noteSendError(rq.batch.Inject(line))
}

// dropRequest forgets a request that gets no answer.
func (p *statelessSession) dropRequest(rq *clientRequest) {
	if p.claim(rq) {
		p.dropClaimed(rq)
	}
}

// dropClaimed is drop, for who has claimed the request.
func (p *statelessSession) dropClaimed(rq *clientRequest) {
	if rq.batch != nil {
		p.noteSendError(rq.batch.Drop())
	}
	p.closeRequest(rq)
}

// fail answers with a diagnosis.
func (p *statelessSession) fail(rq *clientRequest, d diagnostics.Diagnosis) {
	p.respond(rq, d.ErrorFrame(rq.id))
}

// respondWith answers with a result that we have kept, or made.
func (p *statelessSession) respondWith(rq *clientRequest, name string, value []byte) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), rq.id...)
	line = append(append(append(line, `,"`...), name...), `":`...)
	p.respond(rq, append(append(line, value...), "}\n"...))
}

// sendToClient sends the client a frame of a process. It ends in a line end even if that was
// the last of the process: the session goes on.
func (p *statelessSession) sendToClient(f *mcpproxy.Frame) {
	p.noteSendError(p.client.proxy.Client.Send(f))
	p.noteSendError(p.client.proxy.Client.EndLine())
}

// noteSendError notices a client that no longer reads.
func (p *statelessSession) noteSendError(err error) {
	if err != nil && !errors.Is(err, mcpproxy.ErrGone) { // which is about the frame
		p.client.gone.set()
	}
}

// decline answers in our own name that a method is not to be had here.
func (p *statelessSession) decline(rq *clientRequest, why string) {
	p.respondWith(rq, "error", fmt.Appendf(nil, `{"code":-32601,"message":%s,"data":{"dev.mcp-jail/stateless":{"server":%s,"method":%s}}}`,
		jsonString("mcp-jail: "+why), jsonString(p.serverName), jsonString(rq.method)))
}
