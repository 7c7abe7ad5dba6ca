package lifecycle

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// dispatch takes a frame of the client to where it belongs. It does not wait for
// anything but a process that does not read, and not even for one that works: what
// cancels a call must not stand behind it.
func (p *perCall) dispatch(ctx context.Context, f *mcpproxy.Frame) {
	switch {
	case f.Blank():
	case f.Junk():
		p.say(fmt.Sprintf("the client has sent what is no MCP message, and with stateful = false there is no server %q to pass it to; it was dropped", p.name))
	case f.Flaws.Ambiguous():
		p.refuseAmbiguous(f)
	case f.Batch:
		parts, stray := f.Split()
		if stray > 0 {
			p.say("the client has sent a batch with what is no message; that was dropped")
		}
		requests := 0
		for _, part := range parts {
			if e := &part.Messages[0]; e.Kind() == mcpproxy.Request && e.Trackable() {
				requests++
			}
		}
		batch := mcpproxy.NewBatch(p.proxy.Client.Writer, requests, p.limit())
		for _, part := range parts {
			p.message(ctx, part, batch)
		}
	default:
		p.message(ctx, f.Detach(), nil)
	}
}

// refuseAmbiguous answers a message that two readers of JSON could understand
// differently: the jail has to be that of the tool which the server will run.
func (p *perCall) refuseAmbiguous(f *mcpproxy.Frame) {
	d := diagnostics.Diagnosis{
		Code: -32600, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.name,
		What: fmt.Sprintf("server %q: the message can be read in more than one way, and each call gets the jail of its tool", p.name),
		Fix:  "have the client send each name once, in its own spelling, as valid UTF-8",
	}
	answered := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if e.Kind() != mcpproxy.Request || !e.Trackable() || f.Flaws.Has(mcpproxy.FlawDuplicate|mcpproxy.FlawCase|mcpproxy.FlawTrailing) && !soleID(f, e) {
			continue
		}
		p.proxy.Requests.Take(e.ID, new(mcpproxy.Call))
		answered = true
		p.note(d)
		p.sent(p.proxy.Client.Inject(d.ErrorFrame(e.ID)))
	}
	if !answered {
		p.note(d)
	}
}

// soleID reports whether the message has one id, so that the client will know what
// an error with it is about.
func soleID(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	return bytes.Equal(f.Slice(e.IDAt), e.ID)
}

// message takes one message, whose frame is ours now.
func (p *perCall) message(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) {
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Request:
		if !e.Trackable() {
			p.say(fmt.Sprintf("the client has sent a request %q whose id is null, which cannot be answered; it was dropped", e.Method))
			break
		}
		rq, working, ok := p.open(ctx, f, batch)
		if !ok {
			p.proxy.Requests.Take(e.ID, new(mcpproxy.Call))
			p.say(fmt.Sprintf("the client has used the id %s for a second request before the first was answered; the second was dropped", e.ID))
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
	default:
		rq.hello = p.handshakeFor(rq.era)
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
		p.tasks.Go(func() { p.initialize(ctx, rq) })
	case "server/discover":
		p.tasks.Go(func() { p.discover(ctx, rq) })
	default:
		p.tasks.Go(func() { p.ask(ctx, rq) })
	}
}

// listen acknowledges a subscription to nothing (2026-07-28, "Subscriptions": the
// acknowledgement names what of the filter is honoured). It ends with the session, or
// when the client cancels it.
func (p *perCall) listen(rq *request) {
	ack := append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...)
	p.sent(p.proxy.Client.Inject(append(ack, `},"notifications":{}}}`...)))
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
			c.post(f)
			return
		}
		f.Close()
	default: // such as that the roots have changed: to everybody whom it may concern
		if !strings.HasPrefix(string(e.Method), "notifications/") { // a call without an id, say
			p.say(fmt.Sprintf("the client has sent a request %q without an id, which cannot be answered; it was dropped", e.Method))
			f.Close()
			return
		}
		line, whole := f.AppendTo(nil)
		f.Close()
		if !whole {
			return
		}
		for _, c := range p.living() {
			c.post(mcpproxy.Parse(line))
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

// oversized answers in place of a message of the client beyond the limit.
func (p *perCall) oversized(_ mcpproxy.Side, f *mcpproxy.Frame) {
	var i instance
	i.init(p.front, p.Session.Profile)
	d := i.tooLarge(mcpproxy.FromClient, f)
	for m := range f.Messages {
		e := &f.Messages[m]
		if e.Kind() == mcpproxy.Request && e.Trackable() {
			p.note(d)
			p.sent(p.proxy.Client.Inject(d.ErrorFrame(e.ID)))
			return
		}
	}
	p.errs.Say("mcp-jail: " + d.What + "; it was dropped\n")
}

// living are the processes that run.
func (p *perCall) living() (all []*child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.children {
		all = append(all, c)
	}
	return all
}
