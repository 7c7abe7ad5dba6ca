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
	// The timeout includes the time in the queue.
	context.AfterFunc(ctx, dp.limitCallTime(rq))
	switch dp.table.admit(queuedCall{ctx, rq}) {
	case admitted:
		dp.table.goTask(func() { dp.runCall(ctx, rq) })
		return
	case queued:
		return
	}
	dp.fail(rq, dp.client.Announce(session.Refusal(-32603, diagnostics.PagePerCall, dp.session.serverName, rq.tool,
		fmt.Sprintf("too many calls wait already, and %d run at once", dp.session.options.MaxCalls), "send fewer at a time")))
}

func (dp *dispatcher) startNext() {
	if call, ok := dp.table.next(); ok {
		dp.client.Tasks.Go(func() { dp.runCall(call.ctx, call.rq) })
	}
}

func (dp *dispatcher) runCall(ctx context.Context, rq *clientRequest) {
	defer dp.startNext()
	for warm := true; ; warm = false {
		// The second round is for a warm worker that died before it read the call.
		w, d := dp.session.pool.workerFor(ctx, rq, warm)
		if d == nil {
			w.waitLogLevel(ctx)
		} else {
			if ctx.Err() == nil {
				dp.fail(rq, *d)
			} else {
				dp.dropRequest(rq)
			}
			return
		}
		again := dp.serveCall(ctx, w, rq)
		dp.exiting <- struct{}{} // at most as many workers end at a time as calls may run
		dp.client.Tasks.Go(func() {
			w.waitForLateMessages()
			w.stop()
			<-dp.exiting
		})
		if !again {
			dp.session.pool.touchTool(rq.tool)
			return
		}
	}
}

// serveCall passes a call to a worker, and waits until the call is answered or the worker has
// ended. again says that a warm worker has ended before it read any of the call; that is no
// failure of the call.
func (dp *dispatcher) serveCall(ctx context.Context, w *worker, rq *clientRequest) (again bool) {
	at := w.assign(ctx, rq)
	if at == nil {
		return false
	}
	select {
	case <-rq.done:
		return false
	case <-ctx.Done(): // the session is over
		dp.dropRequest(rq)
		return false
	case <-w.ended:
	}
	// Not for other workers: they were started for this call, and their end is its failure.
	if w.warm && w.notRead(at) && !session.IsClosed(rq.done) {
		return true
	}
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	w.addExit(&ev)
	if !session.IsClosed(rq.done) {
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
		// Asked before claim, which takes the call out of the queue.
		queued := dp.table.isQueued(rq)
		if dp.table.claim(rq) { // before the worker is told, whose answer to the cancellation could come first
			dp.respondClaimed(rq, dp.callTimedOut(rq, queued, limit).ErrorFrame(rq.id))
		}
	})
	slow := time.AfterFunc(limit/2, func() {
		dp.client.Stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", dp.session.serverName, rq.tool, limit))
	})
	return func() { late.Stop(); slow.Stop() }
}

func (dp *dispatcher) callTimedOut(rq *clientRequest, queued bool, limit time.Duration) diagnostics.Diagnosis {
	w := dp.table.workerOf(rq)
	if w == nil {
		d := diagnostics.Diagnose(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: dp.session.serverName, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if queued {
			d.Fix = fmt.Sprintf("it had no process yet, because only %d calls run at once: raise call_timeout_secs", dp.session.options.MaxCalls)
		}
		return dp.client.Announce(d)
	}
	w.queue.TryEnqueue(mcpproxy.Parse(session.Cancellation(rq.id, "timed out")))
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	d := w.server.DiagnoseCall(rq.call(), ev)
	dp.session.pool.noteOutcome(w, d.Attribution)
	return d
}
