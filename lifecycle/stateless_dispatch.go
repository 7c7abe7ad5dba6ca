package lifecycle

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// readClient reads the client until it ends, which is no error.
func (p *perCall) readClient(ctx context.Context) error {
	for {
		f, err := p.client.proxy.Client.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.Oversized:
			p.oversized(f)
		default:
			p.dispatch(ctx, f)
		}
	}
}

// dispatch takes a frame of the client to where it belongs. It does not wait for any
// process: what cancels a call must not stand behind it.
func (p *perCall) dispatch(ctx context.Context, f *mcpproxy.Frame) {
	switch {
	case f.Blank():
	case f.Junk():
		p.client.say(fmt.Sprintf("the client has sent what is no MCP message, and with stateful = false there is no server %q to pass it to; it was dropped", p.name))
	case f.Flaws.Ambiguous():
		p.refuseAmbiguous(f)
	case f.Batch:
		parts, stray := f.Split()
		if stray > 0 {
			p.client.say("the client has sent a batch with what is no message; that was dropped")
		}
		requests := 0
		for _, part := range parts {
			if e := &part.Messages[0]; e.Kind() == mcpproxy.Request && e.Trackable() {
				requests++
			}
		}
		batch := mcpproxy.NewBatch(p.client.proxy.Client.Writer, requests, p.client.limit())
		for _, part := range parts {
			p.message(ctx, part, batch)
		}
	default:
		p.message(ctx, f.Detach(), nil)
	}
}

// message takes one message, whose frame is ours now.
func (p *perCall) message(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) {
	if f.Oversized { // a part of a batch that could not be read again
		p.oversized(f)
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Request:
		if !e.Trackable() {
			p.client.say(fmt.Sprintf("the client has sent a request %q whose id is null, which cannot be answered; it was dropped", e.Method))
			break
		}
		rq, working, ok := p.open(ctx, f, batch)
		if !ok {
			p.client.say(fmt.Sprintf("the client has used the id %s for a second request before the first was answered; the second was dropped", e.ID))
			if batch != nil {
				p.sent(batch.Drop())
			}
			break
		}
		p.request(working, rq)
		return
	case mcpproxy.Response:
		p.replied(f, e)
		return
	case mcpproxy.Notification:
		p.notified(f, e)
		return
	default:
		p.refuseOther(f)
	}
	f.Close()
}

// request begins the work on a request, in the order in which they came.
func (p *perCall) request(ctx context.Context, rq *request) {
	e := &rq.frame.Messages[0]
	switch {
	case rq.method == "initialize":
		rq.era, rq.hello = mcpproxy.Legacy, p.learnLegacy(rq.frame, e)
	case rq.era == mcpproxy.Modern:
		rq.hello = p.learnModern(rq.frame, e)
	default: // it says nothing of the client, which then has said it before
		rq.era, rq.hello = p.introduced()
	}
	switch rq.method {
	case "tools/call":
		p.enqueue(ctx, rq)
	case "ping":
		p.result(rq, "result", []byte("{}"))
	case "logging/setLevel":
		p.setLevel(ctx, rq)
	case "subscriptions/listen":
		p.listen(rq)
	case "resources/subscribe", "resources/unsubscribe":
		p.decline(rq, "each call has a process of its own, so there is none that could tell of changes")
	case "initialize":
		p.begin(func() { p.initialize(ctx, rq) })
	case "server/discover":
		p.begin(func() { p.discover(ctx, rq) })
	default:
		p.begin(func() { p.ask(ctx, rq) })
	}
}

// listen acknowledges a subscription to nothing (2026-07-28, "Subscriptions": the
// acknowledgement names what of the filter is honoured). It ends with the session, or
// when the client cancels it.
func (p *perCall) listen(rq *request) {
	ack := append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...)
	p.sent(p.client.proxy.Client.Inject(append(ack, `},"notifications":{}}}`...)))
}

// endListens ends the subscriptions when the client has closed its end: it waits for
// nothing else.
func (p *perCall) endListens() {
	for _, rq := range p.unanswered() {
		if rq.method == "subscriptions/listen" {
			p.result(rq, "result", append(append([]byte(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...), "}}"...))
		}
	}
}

// notified takes a notification of the client.
func (p *perCall) notified(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	switch string(e.Method) {
	case "notifications/initialized": // each process gets its own
		f.Close()
	case "notifications/cancelled":
		p.cancelled(f, e)
	case "notifications/progress":
		if c := p.owner(f, e.Token, e.TokenAt); c != nil {
			c.out.offer(f)
			return
		}
		f.Close()
	default: // such as that the roots have changed: to everybody whom it may concern
		if !strings.HasPrefix(string(e.Method), "notifications/") { // a call without an id, say
			p.client.say(fmt.Sprintf("the client has sent a request %q without an id, which cannot be answered; it was dropped", e.Method))
			f.Close()
			return
		}
		line, whole := f.AppendTo(nil)
		f.Close()
		if !whole {
			return
		}
		for _, c := range p.living() {
			c.out.offer(mcpproxy.Parse(line))
		}
	}
}

// cancelled takes the client's word that it no longer waits for a request. The
// process that works on it is told, and then ended: it works on nothing else.
func (p *perCall) cancelled(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	p.mu.Lock()
	rq := p.requests[mcpproxy.IDKey(e.Cancels)]
	var c *child
	if rq != nil {
		c = rq.child
	}
	p.mu.Unlock()
	if rq == nil || rq.method == "initialize" { // 2025-11-25, "Cancellation": it MUST NOT be cancelled
		f.Close()
		return
	}
	if c != nil {
		c.out.offer(f) // it is ended in any case
	} else {
		f.Close()
	}
	p.drop(rq)
}

// living are the processes that run and are past their handshake.
func (p *perCall) living() (all []*child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.children {
		if c.greeted {
			all = append(all, c)
		}
	}
	return all
}
