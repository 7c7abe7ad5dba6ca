package stateless

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// readClient reads the client until its end, which is no error.
func (s *statelessSession) readClient(ctx context.Context) error {
	for {
		f, err := s.client.Proxy.Client.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.Oversized:
			s.rejectOversized(f)
		default:
			s.dispatch(ctx, f)
		}
	}
}

// dispatch passes on a frame of the client. It waits for no process: a cancellation must
// not wait behind the call that it cancels.
func (s *statelessSession) dispatch(ctx context.Context, f *mcpproxy.Frame) {
	switch {
	case f.Blank():
	case f.NonMessage():
		s.client.SayOnce(fmt.Sprintf("the client has sent a line that is not an MCP message. With stateful = false no process of server %q gets such lines; it was dropped", s.serverName))
	case f.Flaws.Ambiguous():
		s.rejectAmbiguous(f)
	case f.Batch:
		parts, stray := f.Split()
		if stray > 0 {
			s.client.SayOnce("the client has sent a batch with members that are not MCP messages; they were dropped")
		}
		requests := 0
		for _, part := range parts {
			if e := &part.Messages[0]; e.Kind() == mcpproxy.Request && e.Trackable() {
				requests++
			}
		}
		batch := mcpproxy.NewBatch(s.client.Proxy.Client.Writer, requests, s.client.Limit())
		for _, part := range parts {
			s.dispatchMessage(ctx, part, batch)
		}
	default:
		s.dispatchMessage(ctx, f.Detach(), nil)
	}
}

// dispatchMessage passes on one message. It owns the frame.
func (s *statelessSession) dispatchMessage(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) {
	if f.Oversized { // a message of a batch that could not be read back
		s.rejectOversized(f)
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Request:
		if !e.Trackable() {
			s.client.SayOnce(fmt.Sprintf("the client has sent a request %q whose id is null, which cannot be answered; it was dropped", e.Method))
			break
		}
		rq, working, ok := s.addRequest(ctx, f, batch)
		if !ok {
			s.client.SayOnce(fmt.Sprintf("the client has used the id %s for a second request before the first was answered; the second was dropped", e.ID))
			if batch != nil {
				s.noteSendError(batch.Drop())
			}
			break
		}
		s.dispatchRequest(working, rq)
		return
	case mcpproxy.Response:
		s.onClientResponse(f, e)
		return
	case mcpproxy.Notification:
		s.onNotification(f, e)
		return
	default:
		s.rejectOther(f)
	}
	f.Close()
}

// dispatchRequest begins the work on a request. Requests are begun in the order in which
// they came.
func (s *statelessSession) dispatchRequest(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	s.client.NoteIntroduction(rq.frame, e)
	s.client.IntroduceSoon()
	if s.client.Leaks.Current() != nil {
		s.client.Logs.NoteRequest(rq.frame, e)
	}
	switch {
	case rq.method == "initialize":
		rq.era, rq.info = mcpproxy.Legacy, s.recordInitialize(rq.frame, e)
	case rq.era == mcpproxy.Modern:
		rq.info = s.recordModern(rq.frame, e)
	default: // the request does not describe the client; an earlier one did
		rq.era, rq.info = s.currentClient()
	}
	if rq.method != "tools/call" && !s.keepRequest(rq) {
		s.fail(rq, s.client.Announce(session.TooManyRequests(s.serverName, "")))
		return
	}
	switch rq.method {
	case "tools/call":
		if d := s.client.Tools.Refusal(); d != nil {
			refused := *d
			refused.Tool = rq.tool
			s.fail(rq, refused)
			return
		}
		if len(e.Name) > maxToolName { // no list has it, and each place that keeps it would hold it
			s.fail(rq, s.client.Announce(diagnostics.Diagnosis{
				Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.serverName,
				Explain: diagnostics.PagePerCall,
				What:    fmt.Sprintf("server %q: a call of a tool whose name is longer than %d bytes", s.serverName, maxToolName),
				Fix:     "have the client name a tool that the server lists",
			}))
			return
		}
		s.queueCall(ctx, rq)
	case "ping":
		s.respondWith(rq, "result", []byte("{}"))
	case "logging/setLevel":
		s.setLogLevel(ctx, rq)
	case "subscriptions/listen":
		s.acknowledgeSubscription(rq)
	case "resources/subscribe", "resources/unsubscribe":
		s.decline(rq, "each call has a process of its own, so there is none that could tell of changes")
	case "initialize":
		s.goTask(func() { s.answerInitialize(ctx, rq) })
	case "server/discover":
		s.goTask(func() { s.answerDiscover(ctx, rq) })
	default:
		s.goTask(func() { s.answerFromDiscovery(ctx, rq) })
	}
}

// keepRequest is keep for a request that is no call, and so has no slot to wait for.
func (s *statelessSession) keepRequest(rq *clientRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[rq.key()] != rq || s.keep(rq, false)
}

// acknowledgeSubscription acknowledges a subscription to nothing: the acknowledgement
// names the part of the filter that is honoured (2026-07-28, "Subscriptions"). The
// subscription ends with the session, or when the client cancels it.
func (s *statelessSession) acknowledgeSubscription(rq *clientRequest) {
	params := fmt.Appendf(nil, `{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}`, rq.id)
	s.noteSendError(s.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/subscriptions/acknowledged", params)))
}

// endSubscriptions ends the subscriptions when the client has closed its end.
func (s *statelessSession) endSubscriptions() {
	for _, rq := range s.openRequests() {
		if rq.method == "subscriptions/listen" {
			s.respondWith(rq, "result", append(append([]byte(`{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`), rq.id...), "}}"...))
		}
	}
}

// onNotification handles a notification of the client.
func (s *statelessSession) onNotification(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	switch string(e.Method) {
	case "notifications/initialized": // each worker gets one of ours
		f.Close()
	case "notifications/cancelled":
		s.onCancelled(f, e)
	case "notifications/progress":
		if w := s.tokenOwner(f, e.Token, e.TokenAt); w != nil {
			w.queue.tryEnqueue(f)
			return
		}
		f.Close()
	default: // such as notifications/roots/list_changed: it goes to every worker that is ready
		if !strings.HasPrefix(string(e.Method), "notifications/") { // a call without an id, say
			s.client.SayOnce(fmt.Sprintf("the client has sent a request %q without an id, which cannot be answered; it was dropped", e.Method))
			f.Close()
			return
		}
		line, whole := f.AppendTo(nil)
		f.Close()
		if !whole {
			return
		}
		for _, w := range s.readyWorkers() {
			w.queue.tryEnqueue(mcpproxy.Parse(line))
		}
	}
}

// onCancelled handles the cancellation of a request. The worker of the request is told. The worker
// of a call is then stopped, since it works on nothing else; a discovery worker goes on.
func (s *statelessSession) onCancelled(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	s.mu.Lock()
	rq := s.requests[mcpproxy.IDKey(e.Cancels)]
	var w *worker
	if rq != nil {
		w = rq.worker
	}
	s.mu.Unlock()
	if rq == nil || rq.method == "initialize" { // 2025-11-25, "Cancellation": it MUST NOT be cancelled
		f.Close()
		return
	}
	if w != nil {
		w.queue.tryEnqueue(f) // a full queue loses it; the worker of a call is stopped anyway
	} else {
		f.Close()
	}
	s.dropRequest(rq)
}

// readyWorkers returns the workers that are past their handshake.
func (s *statelessSession) readyWorkers() (all []*worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.workers {
		if w.ready {
			all = append(all, w)
		}
	}
	return all
}
