package stateless

import (
	"context"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

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
		d := w.server.DiagnoseCall(rq.call(), ev)
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
		d := diagnostics.Diagnose(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: dp.session.serverName, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if !session.IsClosed(rq.turn) {
			d.Fix = fmt.Sprintf("it had no process yet, because only %d calls run at once: raise call_timeout_secs", dp.session.options.MaxCalls)
		}
		return dp.client.Announce(d)
	}
	w.queue.tryEnqueue(mcpproxy.Parse(session.Cancellation(rq.id, "timed out")))
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	d := w.server.DiagnoseCall(rq.call(), ev)
	dp.session.pool.noteOutcome(w, d.Attribution)
	return d
}
