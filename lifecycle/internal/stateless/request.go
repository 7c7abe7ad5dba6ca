package stateless

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
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
	batch        *mcpproxy.Batch     // the batch that it came in, or nil
	info         *answers.ClientInfo // of the client when the request came, or nil

	turn       chan struct{} // of a call: closed when it may run
	done       chan struct{} // closed when it is answered or cancelled
	onResponse func(f *mcpproxy.Frame, e *mcpproxy.Envelope)
	worker     *worker // that works on it; under requestTable.mu
	logs       bool    // it asks for log messages
	cancel     context.CancelFunc
	kept       *answers.Request // what its answer may be kept as; nil: nothing

	response  *mcpproxy.Envelope // of the worker; nil: it had none. Only the goroutine that claimed the request uses it and cancelled
	cancelled bool
}

func (r *clientRequest) key() string { return mcpproxy.IDKey(r.id) }

func (r *clientRequest) isCall() bool { return r.method == "tools/call" }

func (r *clientRequest) call() *mcpproxy.Call {
	return &mcpproxy.Call{ID: r.id, Method: []byte(r.method), Tool: []byte(r.tool), Start: r.start, Size: r.frame.Size, Cancelled: r.cancelled}
}

func (dp *dispatcher) addRequest(ctx context.Context, f *mcpproxy.Frame, batch *mcpproxy.Batch) (*clientRequest, context.Context, bool) {
	e := &f.Messages[0]
	rq := &clientRequest{
		id: append([]byte(nil), e.ID...), method: string(e.Method), era: e.Era(), frame: f,
		start: time.Now(), batch: batch, done: make(chan struct{}), logs: session.AsksForLogs(f, e),
	}
	if rq.method == "tools/call" {
		rq.tool = string(e.Name)
	}
	ctx, rq.cancel = context.WithCancel(ctx)
	if !dp.table.add(rq) {
		rq.cancel()
		return nil, nil, false
	}
	return rq, ctx, true
}

// end ends a request with what answer sends. It does nothing if the request was ended before.
func (dp *dispatcher) end(rq *clientRequest, answer func()) {
	if dp.table.claim(rq) {
		dp.endClaimed(rq, answer)
	}
}

func (dp *dispatcher) endClaimed(rq *clientRequest, answer func()) {
	answer()
	dp.client.Proxy.Requests.Leave(rq.call(), rq.response)
	close(rq.done)
	rq.cancel()
	if w := dp.table.finish(rq); w != nil {
		w.release(rq)
	}
	rq.frame.Close()
}

// send sends the answer of a request that was claimed. nil is for one that the client has cancelled.
func (dp *dispatcher) send(rq *clientRequest, line []byte) {
	rq.cancelled = line == nil
	switch {
	case rq.batch != nil && line == nil:
		dp.session.noteSendError(rq.batch.Drop())
	case rq.batch != nil:
		dp.session.noteSendError(rq.batch.Inject(line))
	case line != nil:
		dp.session.noteSendError(dp.client.Proxy.Client.Inject(line))
	}
}

// respond ends a request with a line, or with nothing if line is nil.
func (dp *dispatcher) respond(rq *clientRequest, line []byte) {
	dp.end(rq, func() { dp.send(rq, line) })
}

func (dp *dispatcher) forwardResponse(rq *clientRequest, f *mcpproxy.Frame) {
	dp.end(rq, func() {
		if w := dp.table.workerOf(rq); w != nil && w.tool != "" {
			w.server.Processes.CallEnds()
		}
		rq.response = &f.Messages[0]
		if rq.batch == nil {
			dp.session.sendToClient(f)
		} else if rq.batch.Send(f) != nil {
			dp.send(rq, session.Refusal(-32603, diagnostics.PageMessage, dp.session.serverName, rq.tool,
				fmt.Sprintf("an answer of %d MiB does not fit into that of a batch", f.Size>>20), "call it outside of a batch").ErrorFrame(rq.id))
		}
	})
}

func (dp *dispatcher) fail(rq *clientRequest, d diagnostics.Diagnosis) {
	dp.respond(rq, d.ErrorFrame(rq.id))
}

func (dp *dispatcher) respondWith(rq *clientRequest, name string, value []byte) {
	if d := dp.client.Leaks.For(dp.session.discovery.currentProfile()).CheckValue(value, rq.tool); d != nil {
		dp.client.Announce(*d)
		dp.fail(rq, *d)
		return
	}
	dp.respond(rq, mcpproxy.NewResponse(rq.id, name, value))
}

func (dp *dispatcher) decline(rq *clientRequest, why string) {
	data := fmt.Appendf(nil, `{"dev.mcp-jail/stateless":{"server":%s,"method":%s}}`, session.JSONString(dp.session.serverName), session.JSONString(rq.method))
	dp.respondWith(rq, "error", mcpproxy.ErrorValue(-32601, "mcp-jail: "+why, data))
}

// abandonRequests answers the open requests with d at the end of the session, or drops them if d
// is nil. It does not wait for a client that does not read; finish does.
func (dp *dispatcher) abandonRequests(d *diagnostics.Diagnosis) {
	dp.table.end()
	open := slices.DeleteFunc(dp.table.openRequests(), func(rq *clientRequest) bool { return !dp.table.claim(rq) })
	// A client that does not read must not hold the end of the session.
	dp.client.Tasks.Go(func() {
		for _, rq := range open {
			var line []byte
			if d != nil {
				line = d.ErrorFrame(rq.id)
			}
			dp.endClaimed(rq, func() { dp.send(rq, line) })
		}
	})
}

func (r *clientRequest) listRequest() session.ListRequest {
	e := &r.frame.Messages[0]
	asked := session.ListRequest{Method: r.method}
	if r.era == mcpproxy.Modern {
		asked = session.ModernRequest(r.method, r.frame.Slice(e.ParamsMeta))
	}
	if asked.Capabilities == nil {
		asked.Capabilities = r.info.Capabilities()
	}
	if e.Params.Present() && r.method == "tools/list" {
		asked.Cursor = session.CursorOf(r.frame.Slice(e.Params))
	}
	return asked
}

func (dp *dispatcher) queueCall(ctx context.Context, rq *clientRequest) {
	if !dp.table.admit(rq) {
		dp.fail(rq, dp.client.Announce(session.Refusal(-32603, diagnostics.PagePerCall, dp.session.serverName, rq.tool,
			fmt.Sprintf("too many calls wait already, and %d run at once", dp.session.options.MaxCalls), "send fewer at a time")))
		return
	}
	// The timeout includes the time in the queue.
	context.AfterFunc(ctx, dp.limitCallTime(rq))
	dp.table.goTask(func() {
		select {
		case <-rq.turn:
		case <-ctx.Done():
		}
		if ctx.Err() == nil {
			dp.run(ctx, rq)
			dp.session.pool.touchTool(rq.tool)
		}
		dp.table.leave(rq)
	})
}

// run has a worker answer a request. The second round is for a worker that ended before it read the request.
func (dp *dispatcher) run(ctx context.Context, rq *clientRequest) {
	for first := true; ; first = false {
		w, d := dp.workerFor(ctx, rq, first)
		if d != nil {
			dp.fail(rq, *d)
			return
		}
		again := dp.serve(ctx, w, rq, first)
		dp.session.pool.release(w)
		if !again {
			return
		}
	}
}

func (dp *dispatcher) workerFor(ctx context.Context, rq *clientRequest, warm bool) (*worker, *diagnostics.Diagnosis) {
	if rq.method == "tools/call" {
		return dp.session.pool.callWorker(ctx, rq, warm)
	}
	return dp.session.discovery.worker(ctx, rq.info)
}

// serve has a worker answer a request, and returns when it is answered or the worker has ended. again says that the
// worker had ended before it read any of the request, and another one may do. A worker that was started for the
// request is not replaced: its end is the request's failure.
func (dp *dispatcher) serve(ctx context.Context, w *worker, rq *clientRequest, mayReplace bool) (again bool) {
	at := w.assign(ctx, rq)
	if at == nil {
		return false
	}
	select {
	case <-rq.done:
	case <-ctx.Done(): // the session is over
	case <-w.ended:
	}
	switch {
	case session.IsClosed(rq.done) || ctx.Err() != nil:
		return false
	case mayReplace && (w.warm || w.tool == "") && w.notRead(at):
		return true
	}
	stage := diagnostics.StageCall
	if session.IsDiscoveryMethod(rq.method) {
		stage = diagnostics.StageList
	}
	ev := w.server.Evidence(stage, rq.call(), rq.start)
	w.addExit(&ev)
	switch {
	case session.IsClosed(rq.done):
	case w.tool == "":
		dp.fail(rq, w.server.Diagnose(ev))
	default:
		d := w.server.DiagnoseCall(ev)
		dp.session.pool.noteOutcome(w, d.Attribution)
		dp.fail(rq, d)
	}
	return false
}

func (dp *dispatcher) limitCallTime(rq *clientRequest) (stop func()) {
	limit := dp.session.discovery.currentProfile().Call
	if limit <= 0 {
		return func() {}
	}
	late := time.AfterFunc(limit, func() {
		// The call is ended before the worker is told, whose answer to the cancellation could come first.
		dp.end(rq, func() { dp.send(rq, dp.callTimedOut(rq, limit).ErrorFrame(rq.id)) })
	})
	slow := time.AfterFunc(limit/2, func() {
		dp.client.Stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", dp.session.serverName, rq.tool, limit))
	})
	return func() { late.Stop(); slow.Stop() }
}

func (dp *dispatcher) callTimedOut(rq *clientRequest, limit time.Duration) diagnostics.Diagnosis {
	w := dp.table.workerOf(rq)
	if w == nil {
		d := diagnose.Failure(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: dp.session.serverName, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if !session.IsClosed(rq.turn) {
			d.Fix = fmt.Sprintf("it had no process yet, because only %d calls run at once: raise call_timeout_secs", dp.session.options.MaxCalls)
		}
		return dp.client.Announce(d)
	}
	w.queue.tryEnqueue(mcpproxy.Parse(session.Cancellation(rq.id, "timed out")))
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	d := w.server.DiagnoseCall(ev)
	dp.session.pool.noteOutcome(w, d.Attribution)
	return d
}
