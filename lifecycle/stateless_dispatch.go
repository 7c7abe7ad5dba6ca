package lifecycle

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// readClient reads the client until it ends, which is no error.
func (p *statelessSession) readClient(ctx context.Context) error {
	for {
		f, err := p.client.proxy.Client.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.Oversized:
			p.rejectOversized(f)
		default:
			p.dispatch(ctx, f)
		}
	}
}

// dispatch takes a frame of the client to where it belongs. It does not wait for any
// process: what cancels a call must not stand behind it.
func (p *statelessSession) dispatch(ctx context.Context, f *mcpproxy.Frame) {
	switch {
	case f.Blank():
	case f.Junk():
		p.client.sayOnce(fmt.Sprintf("the client has sent what is no MCP message, and with stateful = false there is no server %q to pass it to; it was dropped", p.serverName))
	case f.Flaws.Ambiguous():
		p.rejectAmbiguous(f)
	case f.Batch:
		parts, stray := f.Split()
		if stray > 0 {
			p.client.sayOnce("the client has sent a batch with what is no message; that was dropped")
		}
		requests := 0
		for _, part := range parts {
			if e := &part.Messages[0]; e.Kind() == mcpproxy.Request && e.Trackable() {
				requests++
			}
		}
		batch := mcpproxy.NewBatch(p.client.proxy.Client.Writer, requests, p.client.limit())
		for _, part := range parts {
			p.dispatchMessage(ctx, part, batch)
		}
	default:
		p.dispatchMessage(ctx, f.Detach(), nil)
	}
}

// dispatchMessage takes one message, whose frame is ours now.
func (p *statelessSession) dispatchMessage(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) {
	if f.Oversized { // a part of a batch that could not be read again
		p.rejectOversized(f)
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Request:
		if !e.Trackable() {
			p.client.sayOnce(fmt.Sprintf("the client has sent a request %q whose id is null, which cannot be answered; it was dropped", e.Method))
			break
		}
		rq, working, ok := p.addRequest(ctx, f, batch)
		if !ok {
			p.client.sayOnce(fmt.Sprintf("the client has used the id %s for a second request before the first was answered; the second was dropped", e.ID))
			if batch != nil {
				p.noteSendError(batch.Drop())
			}
			break
		}
		p.dispatchRequest(working, rq)
		return
	case mcpproxy.Response:
		p.onClientResponse(f, e)
		return
	case mcpproxy.Notification:
		p.onNotification(f, e)
		return
	default:
		p.rejectOther(f)
	}
	f.Close()
}

// dispatchRequest begins the work on a request, in the order in which they came.
func (p *statelessSession) dispatchRequest(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	switch {
	case rq.method == "initialize":
		rq.era, rq.info = mcpproxy.Legacy, p.recordInitialize(rq.frame, e)
	case rq.era == mcpproxy.Modern:
		rq.info = p.recordModern(rq.frame, e)
	default: // it says nothing of the client, which then has said it before
		rq.era, rq.info = p.currentClient()
	}
	switch rq.method {
	case "tools/call":
		p.queueCall(ctx, rq)
	case "ping":
		p.respondWith(rq, "result", []byte("{}"))
	case "logging/setLevel":
		p.setLogLevel(ctx, rq)
	case "subscriptions/listen":
		p.acknowledgeSubscription(rq)
	case "resources/subscribe", "resources/unsubscribe":
		p.decline(rq, "each call has a process of its own, so there is none that could tell of changes")
	case "initialize":
		p.goTask(func() { p.answerInitialize(ctx, rq) })
	case "server/discover":
		p.goTask(func() { p.answerDiscover(ctx, rq) })
	default:
		p.goTask(func() { p.answerFromDiscovery(ctx, rq) })
	}
}

// acknowledgeSubscription acknowledges a subscription to nothing (2026-07-28, "Subscriptions": the
// acknowledgement names what of the filter is honoured). It ends with the session, or
// when the client cancels it.
func (p *statelessSession) acknowledgeSubscription(rq *clientRequest) {
	ack := append([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...)
	p.noteSendError(p.client.proxy.Client.Inject(append(ack, `},"notifications":{}}}`...)))
}

// endSubscriptions ends the subscriptions when the client has closed its end: it waits for
// nothing else.
func (p *statelessSession) endSubscriptions() {
	for _, rq := range p.openRequests() {
		if rq.method == "subscriptions/listen" {
			p.respondWith(rq, "result", append(append([]byte(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...), "}}"...))
		}
	}
}

// onNotification takes a notification of the client.
func (p *statelessSession) onNotification(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	switch string(e.Method) {
	case "notifications/initialized": // each process gets its own
		f.Close()
	case "notifications/cancelled":
		p.onCancelled(f, e)
	case "notifications/progress":
		if c := p.tokenOwner(f, e.Token, e.TokenAt); c != nil {
			c.queue.tryEnqueue(f)
			return
		}
		f.Close()
	default: // such as that the roots have changed: to everybody whom it may concern
		if !strings.HasPrefix(string(e.Method), "notifications/") { // a call without an id, say
			p.client.sayOnce(fmt.Sprintf("the client has sent a request %q without an id, which cannot be answered; it was dropped", e.Method))
			f.Close()
			return
		}
		line, whole := f.AppendTo(nil)
		f.Close()
		if !whole {
			return
		}
		for _, c := range p.readyWorkers() {
			c.queue.tryEnqueue(mcpproxy.Parse(line))
		}
	}
}

// onCancelled takes the client's word that it no longer waits for a request. The
// process that works on it is told, and then ended: it works on nothing else.
func (p *statelessSession) onCancelled(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	p.mu.Lock()
	rq := p.requests[mcpproxy.IDKey(e.Cancels)]
	var c *worker
	if rq != nil {
		c = rq.worker
	}
	p.mu.Unlock()
	if rq == nil || rq.method == "initialize" { // 2025-11-25, "Cancellation": it MUST NOT be cancelled
		f.Close()
		return
	}
	if c != nil {
		c.queue.tryEnqueue(f) // it is ended in any case
	} else {
		f.Close()
	}
	p.dropRequest(rq)
}

// readyWorkers are the processes that run and are past their handshake.
func (p *statelessSession) readyWorkers() (all []*worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.workers {
		if c.ready {
			all = append(all, c)
		}
	}
	return all
}
