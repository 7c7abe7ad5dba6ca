package lifecycle

import (
	"bytes"
	"strconv"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// reverse is a request of a process to the client. Every process counts its own from
// 0, so the client sees an id of ours, and the process's comes back in the answer.
type reverse struct {
	child *child
	id    []byte // the process's
	token []byte // its progress token; nil when it wants to hear of no progress
	call  mcpproxy.Call
}

// What bounds what processes can make us remember. A client may never answer.
const (
	maxAsked   = 10000 // requests
	maxAskedBy = 1000  // of one process: the others have theirs
	maxAskedID = 4096  // bytes of the id and the progress token of one
)

// pass gives a request of a process its id for the client. It reports false when too
// many wait for the client already.
func (p *perCall) pass(c *child, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	r := &reverse{child: c, id: bytes.Clone(e.ID), token: bytes.Clone(e.Token), call: mcpproxy.Call{Method: bytes.Clone(e.Method)}}
	p.mu.Lock()
	if len(p.reversed) >= maxAsked || c.asking >= maxAskedBy {
		p.mu.Unlock()
		return false
	}
	c.asking++
	p.lastAsk++
	n := p.lastAsk
	p.reversed[n] = r
	p.mu.Unlock()
	ours := strconv.AppendInt(nil, n, 10)
	f.Replace(e.IDAt, ours)
	if r.token != nil {
		f.Replace(e.TokenAt, ours)
	}
	return true
}

// replied takes the client's answer to the process that has asked.
func (p *perCall) replied(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	r := p.takeReverse(e.ID)
	if r == nil { // nobody waits (any more)
		f.Close()
		return
	}
	r.child.server.reply(f, e, &r.call)
	f.Replace(e.IDAt, r.id)
	r.child.post(f) // it would wait for this, and we for it
}

// takeReverse removes the request of a process that the client knows by an id.
func (p *perCall) takeReverse(id []byte) *reverse {
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.reversed[n]
	p.forgetAsked(n)
	return r
}

// forgetAsked takes out a request of a process, if it is there. The caller holds mu.
func (p *perCall) forgetAsked(n int64) {
	if r := p.reversed[n]; r != nil {
		r.child.asking--
		delete(p.reversed, n)
	}
}

// owner finds the process whose progress token this is, and puts its own back.
func (p *perCall) owner(f *mcpproxy.Frame, token []byte, at mcpproxy.Span) *child {
	n, err := strconv.ParseInt(string(token), 10, 64)
	p.mu.Lock()
	r := p.reversed[n]
	p.mu.Unlock()
	if err != nil || r == nil || r.token == nil {
		return nil
	}
	f.Replace(at, r.token)
	return r.child
}

// withdrawn takes a process's word that it no longer waits for one of its requests,
// and puts our id into it. It reports false when the client has heard of none.
func (p *perCall) withdrawn(c *child, f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, r := range p.reversed {
		if r.child == c && mcpproxy.IDKey(r.id) == mcpproxy.IDKey(e.Cancels) {
			p.forgetAsked(n)
			f.Replace(e.CancelsAt, strconv.AppendInt(nil, n, 10))
			return true
		}
	}
	return false
}

// withdrawAll tells the client that a process which is gone waits for nothing any
// more: the client may be showing a question of its to somebody.
func (p *perCall) withdrawAll(c *child) {
	p.mu.Lock()
	var open []int64
	for n, r := range p.reversed {
		if r.child == c {
			open = append(open, n)
			p.forgetAsked(n)
		}
	}
	p.mu.Unlock()
	for _, n := range open {
		line := strconv.AppendInt([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), n, 10)
		p.sent(p.client.proxy.Client.Inject(append(line, `,"reason":"the process of the call has ended"}}`...)))
	}
}
