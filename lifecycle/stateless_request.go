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

// request is a request of the client that is not answered yet.
type request struct {
	id           []byte
	method, tool string
	era          mcpproxy.Era
	frame        *mcpproxy.Frame
	start        time.Time
	batch        *mcpproxy.Batch // of the batch that it came in; nil outside of one
	hello        *hello          // how the client had introduced itself when it came; nil: not yet

	done   chan struct{} // closed when it is answered or cancelled
	keep   func(f *mcpproxy.Frame, e *mcpproxy.Envelope)
	child  *child // who works on it; under perCall.mu
	cancel context.CancelFunc
}

// key is what requests are known by.
func (rq *request) key() string { return mcpproxy.IDKey(rq.id) }

// call is the request as diagnoses want it.
func (rq *request) call() *mcpproxy.Call {
	return &mcpproxy.Call{ID: rq.id, Method: []byte(rq.method), Tool: []byte(rq.tool), Start: rq.start}
}

// name is what the answer is kept under; ok is false for what must not be.
func (rq *request) name() (name string, ok bool) {
	e := &rq.frame.Messages[0]
	if rq.method == "initialize" || rq.method == "server/discover" {
		return rq.method, true // what they say of the client is known already
	}
	return catalog.Request(rq.method, rq.frame.Slice(e.Params))
}

// open remembers a request. It reports false when its id is in use: an answer could
// not say which of the two it is for.
func (p *perCall) open(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) (*request, context.Context, bool) {
	e := &f.Messages[0]
	rq := &request{
		id: append([]byte(nil), e.ID...), method: string(e.Method), era: e.Era(), frame: f,
		start: time.Now(), batch: batch, done: make(chan struct{}),
	}
	if rq.method == "tools/call" {
		rq.tool = string(e.Name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests[rq.key()] != nil || p.over {
		return nil, nil, false
	}
	ctx, rq.cancel = context.WithCancel(ctx)
	p.requests[rq.key()] = rq
	return rq, ctx, true
}

// claim gives the right to answer a request to the first who asks.
func (p *perCall) claim(rq *request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests[rq.key()] != rq {
		return false
	}
	delete(p.requests, rq.key())
	p.answering++
	p.unqueue(rq)
	return true
}

// close ends what was begun for a request that has been claimed.
func (p *perCall) close(rq *request) {
	close(rq.done)
	rq.cancel()
	p.mu.Lock()
	c := rq.child
	if p.answering--; len(p.requests)+p.answering == 0 {
		p.idle.Broadcast()
	}
	p.mu.Unlock()
	if c != nil {
		c.release(rq)
	}
	rq.frame.Close()
}

// answer sends the answer of a process: the frame, with the edits that were made.
func (p *perCall) answer(rq *request, f *mcpproxy.Frame) {
	if !p.claim(rq) {
		return
	}
	defer p.close(rq)
	if rq.batch == nil {
		p.send(f)
		return
	}
	if rq.batch.Send(f) != nil {
		p.sent(rq.batch.Inject(diagnostics.Diagnosis{
			Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.name, Tool: rq.tool,
			What: fmt.Sprintf("server %q: an answer of %d MiB does not fit into that of a batch", p.name, f.Size>>20),
			Fix:  "call it outside of a batch",
		}.ErrorFrame(rq.id)))
	}
}

// reply sends an answer of ours.
func (p *perCall) reply(rq *request, line []byte) {
	if p.claim(rq) {
		p.deliver(rq, line)
	}
}

// deliver is reply, for who has claimed the request.
func (p *perCall) deliver(rq *request, line []byte) {
	defer p.close(rq)
	if rq.batch == nil {
		p.sent(p.client.proxy.Client.Inject(line))
		return
	}
	p.sent(rq.batch.Inject(line))
}

// drop forgets a request that gets no answer.
func (p *perCall) drop(rq *request) {
	if p.claim(rq) {
		p.discard(rq)
	}
}

// discard is drop, for who has claimed the request.
func (p *perCall) discard(rq *request) {
	if rq.batch != nil {
		p.sent(rq.batch.Drop())
	}
	p.close(rq)
}

// fail answers with a diagnosis.
func (p *perCall) fail(rq *request, d diagnostics.Diagnosis) { p.reply(rq, d.ErrorFrame(rq.id)) }

// result answers with a result that we have kept, or made.
func (p *perCall) result(rq *request, name string, value []byte) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), rq.id...)
	line = append(append(append(line, `,"`...), name...), `":`...)
	p.reply(rq, append(append(line, value...), "}\n"...))
}

// send sends the client a frame of a process. It ends in a line end even if that was
// the last of the process: the session goes on.
func (p *perCall) send(f *mcpproxy.Frame) {
	p.sent(p.client.proxy.Client.Send(f))
	p.sent(p.client.proxy.Client.End())
}

// sent notices a client that no longer reads.
func (p *perCall) sent(err error) {
	if err != nil && !errors.Is(err, mcpproxy.ErrGone) { // which is about the frame
		p.client.gone.set()
	}
}

// decline answers in our own name that a method is not to be had here.
func (p *perCall) decline(rq *request, why string) {
	p.result(rq, "error", fmt.Appendf(nil, `{"code":-32601,"message":%s,"data":{"dev.mcp-jail/stateless":{"server":%s,"method":%s}}}`,
		quoted("mcp-jail: "+why), quoted(p.name), quoted(rq.method)))
}
