package stateless

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// dispatcher answers the client's requests: from the list cache, by a discovery worker, by a worker
// for each call, or itself. It waits for no process on the goroutine that reads the client.
type dispatcher struct {
	session *statelessSession
	client  *session.Client
	table   requestTable
}

func (dp *dispatcher) readClient(ctx context.Context) error {
	for {
		f, err := dp.client.Proxy.Client.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case f.Oversized:
			dp.rejectOversized(f)
		default:
			dp.dispatch(ctx, f)
		}
	}
}

// dispatch passes on a frame of the client. It waits for no process: a cancellation must
// not wait for the call that it cancels.
func (dp *dispatcher) dispatch(ctx context.Context, f *mcpproxy.Frame) {
	dp.client.ExplainTyped(f)
	switch {
	case f.Blank():
	case f.NonMessage():
		dp.client.SayOnce(fmt.Sprintf("the client has sent a line that is not an MCP message. With stateful = false no process of server %q gets such lines. It was dropped", dp.session.serverName))
	case f.Flaws.Ambiguous():
		dp.rejectAmbiguous(f)
	case f.Batch:
		parts, stray := f.Split()
		if stray > 0 {
			dp.client.SayOnce("the client has sent a batch with members that are not MCP messages; they were dropped")
		}
		// The answers form one array, which is written when the last of them has come.
		requests := 0
		for _, part := range parts {
			if e := &part.Messages[0]; e.Kind() == mcpproxy.Request && e.Trackable() {
				requests++
			}
		}
		batch := mcpproxy.NewBatch(dp.client.Proxy.Client.Writer, requests, dp.client.Limit())
		for _, part := range parts {
			dp.dispatchMessage(ctx, part, batch)
		}
	default:
		dp.dispatchMessage(ctx, f.Detach(), nil)
	}
}

// dispatchMessage passes on one message. It owns the frame.
func (dp *dispatcher) dispatchMessage(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) {
	if f.Oversized { // a message of a batch that could not be read back
		dp.rejectOversized(f)
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Request:
		if !e.Trackable() {
			dp.client.SayOnce(fmt.Sprintf("the client has sent a request %q whose id is null, which cannot be answered. It was dropped", e.Method))
			break
		}
		f = answers.StripRequest(f)
		e = &f.Messages[0]
		rq, working, ok := dp.addRequest(ctx, f, batch)
		if !ok {
			dp.client.Proxy.Requests.Leave(mcpproxy.NewCall(e, time.Now()), nil)
			dp.client.SayOnce(fmt.Sprintf("the client has used the id %s for a second request before the first was answered; the second was dropped", e.ID))
			if batch != nil {
				dp.session.noteSendError(batch.Drop())
			}
			break
		}
		dp.dispatchRequest(working, rq)
		return
	case mcpproxy.Response:
		if e.Trackable() && dp.client.Questions.Answered(f, e) {
			break
		}
		dp.onClientResponse(f, e)
		return
	case mcpproxy.Notification:
		dp.onNotification(f, e)
		return
	default:
		dp.rejectOther(f)
	}
	f.Close()
}

// dispatchRequest begins the work on a request. Requests are begun in the order in which
// they came.
func (dp *dispatcher) dispatchRequest(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	dp.client.Introduction.Note(rq.frame, e)
	switch {
	case rq.method == "initialize":
		rq.era, rq.info = mcpproxy.Legacy, dp.session.discovery.infos.RecordInitialize(rq.frame, e)
	case rq.era == mcpproxy.Modern:
		rq.info = dp.session.discovery.infos.RecordModern(rq.frame, e)
	default: // the request does not describe the client; an earlier one did
		rq.era, rq.info = dp.session.discovery.infos.Current()
	}
	if len(rq.id) > mcpproxy.MaxID || !rq.isCall() && !dp.table.hasRoom() {
		dp.fail(rq, dp.client.Announce(session.TooManyRequests(dp.session.serverName, "", rq.id)))
		return
	}
	switch rq.method {
	case "tools/call":
		if d := dp.client.Tools.Refusal(); d != nil {
			refused := *d
			refused.Tool = rq.tool
			dp.fail(rq, refused)
			return
		}
		if len(e.Name) > mcpproxy.MaxTool { // no list has it, and each place that keeps it would hold it
			dp.fail(rq, dp.client.Announce(session.Refusal(-32602, diagnostics.PagePerCall, dp.session.serverName, "",
				fmt.Sprintf("a call of a tool whose name is longer than %d bytes", mcpproxy.MaxTool), "have the client name a tool that the server lists")))
			return
		}
		if rq.era == mcpproxy.Legacy && dp.session.discovery.tools.NeedsTask(rq.tool) {
			dp.fail(rq, dp.client.Announce(noTasks(dp.session.serverName, rq.tool, "the tool answers with tasks alone (execution.taskSupport is \"required\")")))
			return
		}
		dp.askOrQueue(ctx, rq)
	case "ping":
		dp.respondWith(rq, "result", []byte("{}"))
	case "logging/setLevel":
		dp.setLogLevel(ctx, rq)
	case "subscriptions/listen":
		dp.acknowledgeSubscription(rq)
	case "resources/subscribe", "resources/unsubscribe":
		dp.decline(rq, "each call has a process of its own, so there is none that could tell of changes")
	case "tasks/get", "tasks/result", "tasks/list", "tasks/update", "tasks/cancel":
		d := noTasks(dp.session.serverName, "", rq.method+" is for work that goes on after an answer")
		d.Code = -32601
		dp.fail(rq, d)
	case "initialize":
		dp.table.goTask(func() { dp.session.discovery.answerInitialize(ctx, rq) })
	case "server/discover":
		dp.table.goTask(func() { dp.session.discovery.answerDiscover(ctx, rq) })
	default:
		dp.table.goTask(func() { dp.session.discovery.answer(ctx, rq) })
	}
}

// askOrQueue asks the user about what is due before a call, which then waits for the answer, or queues it.
func (dp *dispatcher) askOrQueue(ctx context.Context, rq *clientRequest) {
	call := session.HeldCall{
		ID: string(rq.id), Tool: rq.tool,
		Pass: func(f *mcpproxy.Frame) {
			if f != rq.frame {
				rq.frame.Close()
			}
			rq.frame = f
			dp.queueCall(ctx, rq)
		},
		Answer: func(line []byte) { dp.respond(rq, line) },
	}
	if q := dp.client.Questions; q == nil || rq.batch != nil || !q.Hold(rq.frame, &rq.frame.Messages[0], call) {
		dp.queueCall(ctx, rq)
	}
}

// acknowledgeSubscription acknowledges a subscription to nothing: the acknowledgement
// names the part of the filter that is honoured (2026-07-28, "Subscriptions"). The
// subscription ends with the session, or when the client cancels it.
func (dp *dispatcher) acknowledgeSubscription(rq *clientRequest) {
	params := fmt.Appendf(nil, `{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}`, rq.id)
	dp.session.noteSendError(dp.client.Proxy.Client.Inject(mcpproxy.NewNotification("notifications/subscriptions/acknowledged", params)))
}

func (dp *dispatcher) endSubscriptions() {
	for _, rq := range dp.table.openRequests() {
		if rq.method == "subscriptions/listen" {
			dp.respondWith(rq, "result", fmt.Appendf(nil, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%s}}`, rq.id))
		}
	}
}

func (dp *dispatcher) onNotification(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	switch string(e.Method) {
	case "notifications/initialized": // each worker gets ours
		f.Close()
	case "notifications/cancelled":
		dp.onCancelled(f, e)
	case "notifications/progress":
		if w := dp.session.serverRequests.tokenOwner(f, e.Token, e.TokenAt); w != nil {
			w.queue.tryEnqueue(f)
			return
		}
		f.Close()
	default: // such as notifications/roots/list_changed: it goes to every worker that is ready
		if !strings.HasPrefix(string(e.Method), "notifications/") { // a call without an id, say
			dp.client.SayOnce(fmt.Sprintf("the client has sent a request %q without an id, which cannot be answered. It was dropped", e.Method))
			f.Close()
			return
		}
		line, whole := f.AppendTo(nil)
		f.Close()
		if !whole {
			return
		}
		for _, w := range dp.session.pool.readyWorkers() {
			w.queue.tryEnqueue(mcpproxy.Parse(line))
		}
	}
}

func (dp *dispatcher) onCancelled(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	rq, w := dp.table.find(e.Cancels)
	if rq == nil || rq.method == "initialize" { // 2025-11-25, "Cancellation": it MUST NOT be cancelled
		f.Close()
		return
	}
	if w != nil {
		w.queue.tryEnqueue(f) // a full queue loses it; the worker of a call is stopped anyway
	} else {
		f.Close()
	}
	if rq.method == "server/discover" { // its worker may be at work on it for ever
		dp.session.pool.withdrawEra(rq.info.Era())
	}
	dp.client.Questions.Cancelled(rq.id)
	// This stops the worker of a call, which works on nothing else. A discovery worker goes on.
	dp.respond(rq, nil)
}

// rejectAmbiguous refuses a frame that two JSON readers could read differently: the jail
// must be the one of the tool that the server will run.
func (dp *dispatcher) rejectAmbiguous(f *mcpproxy.Frame) {
	dp.reject(f, session.Refusal(-32600, diagnostics.PageMessage, dp.session.serverName, "",
		"two JSON readers could read the message differently, and each call gets the jail of its tool", "have the client send each name once, in its own spelling, as valid UTF-8"))
}

func (dp *dispatcher) rejectOversized(f *mcpproxy.Frame) {
	var i session.Server
	i.Init(dp.client, dp.client.Config.Profile)
	dp.reject(f, i.TooLargeDiagnosis(mcpproxy.FromClient, f))
}

// reject answers every request in a frame with d, in a batch if the frame is one. It tells
// workers that wait for an answer in the frame. It does not answer an id that readers
// could read differently, or that an open request has.
func (dp *dispatcher) reject(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	var answers [][]byte
	told := false
	for i := range f.Messages {
		e := &f.Messages[i]
		// With two ids, an answer would reach the wrong request in some clients.
		if ids := session.IDsIn(f, e); len(ids) != 1 || !e.Trackable() {
			continue
		}
		switch e.Kind() {
		case mcpproxy.Request, mcpproxy.Other:
			if e.Kind() == mcpproxy.Request {
				dp.client.Proxy.Requests.Leave(mcpproxy.NewCall(e, time.Now()), nil)
			}
			if open, _ := dp.table.find(e.ID); open == nil {
				answers = append(answers, bytes.TrimSpace(d.ErrorFrame(e.ID)))
			}
		case mcpproxy.Response:
			if r := dp.session.serverRequests.take(e.ID); r != nil {
				told = true
				r.worker.queue.tryEnqueue(mcpproxy.Parse(d.ErrorFrame(r.id)))
			}
		}
	}
	switch {
	case len(answers) == 0 && !told:
		d.What += ". It was dropped"
	case len(answers) > 0 && f.Batch:
		dp.session.noteSendError(dp.client.Proxy.Client.Inject(session.JSONArray(answers)))
	case len(answers) > 0:
		dp.session.noteSendError(dp.client.Proxy.Client.Inject(answers[0]))
	}
	dp.client.Announce(d)
}

func (dp *dispatcher) rejectOther(f *mcpproxy.Frame) {
	dp.reject(f, session.Refusal(-32600, diagnostics.PageMessage, dp.session.serverName, "",
		"the client has sent a message with neither a method nor a result nor an error", ""))
}

// noTasks is the answer where a server or a client wants a task.
func noTasks(server, tool, what string) diagnostics.Diagnosis {
	return session.Refusal(-32603, diagnostics.PagePerCall, server, tool,
		what+", and with stateful = false a process ends with its answer", "set stateful = true: then one process serves the whole session")
}

func (dp *dispatcher) setLogLevel(ctx context.Context, rq *clientRequest) {
	e := &rq.frame.Messages[0]
	params := bytes.Clone(rq.frame.Slice(e.Params))
	var asked struct{ Level string }
	json.Unmarshal(params, &asked)
	accepted := func() {
		for _, m := range dp.client.Logs.SetLevel(asked.Level) {
			dp.session.noteSendError(dp.client.Proxy.Client.Inject(m))
		}
	}
	if params == nil || !dp.session.discovery.cache.HasLogging() {
		rq.onResponse = func(_ *mcpproxy.Frame, e *mcpproxy.Envelope) {
			if e.Result.Present() {
				accepted()
			}
		}
		dp.table.goTask(func() { dp.session.discovery.answer(ctx, rq) })
		return
	}
	dp.session.pool.setLogLevel(params)
	dp.respondWith(rq, "result", []byte("{}"))
	accepted()
}

// setLogLevel tells the workers that are ready. Warm workers are told, too, but no call gets them any more.
func (p *pool) setLogLevel(params []byte) {
	p.mu.Lock()
	p.logLevel = params
	var told []*worker
	for w := range p.workers {
		if w.ready && w.info != nil && w.info.Era() == mcpproxy.Legacy {
			told = append(told, w)
		}
	}
	p.mu.Unlock()
	for _, w := range told {
		w.queue.tryEnqueue(logLevelRequest(p.session.nextID(), params))
	}
	p.session.wake() // others take the place of the warm workers
}

func logLevelRequest(id, params []byte) *mcpproxy.Frame {
	return mcpproxy.Parse(mcpproxy.NewRequest(id, "logging/setLevel", params))
}

// tellLogLevel tells a new worker the level that the client has set. It waits for the answer, but not longer than
// times.SetLevel: servers may work on requests in any order, and the client had its answer before it sent the call.
func (w *worker) tellLogLevel(ctx context.Context) {
	p := &w.session.pool
	for {
		p.mu.Lock()
		same, level := bytes.Equal(w.logLevel, p.logLevel), p.logLevel
		w.logLevel = level
		p.mu.Unlock()
		if same {
			return
		}
		w.request(ctx, logLevelRequest([]byte("0"), level), w.client.Times.SetLevel)
	}
}
