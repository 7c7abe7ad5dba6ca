package stateless

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// queueCall gives a call a slot, or puts it at the end of the queue. If there is no memory for it,
// queueCall refuses the call.
func (s *statelessSession) queueCall(ctx context.Context, rq *clientRequest) {
	// The timeout includes the time in the queue.
	context.AfterFunc(ctx, s.limitCallTime(rq))
	s.mu.Lock()
	switch {
	case s.running < s.options.MaxCalls:
		s.running++
		s.mu.Unlock()
		s.goTask(func() { s.runCall(ctx, rq) })
		return
	case s.requests[rq.key()] != rq: // cancelled or timed out meanwhile
		s.mu.Unlock()
		return
	case s.keep(rq, len(s.queue) == 0):
		s.queue = append(s.queue, queuedCall{ctx, rq})
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.fail(rq, s.client.Announce(diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.serverName, Tool: rq.tool,
		Explain: diagnostics.PagePerCall,
		What:    fmt.Sprintf("server %q: too many calls wait already, and max_concurrent_calls = %d run at once", s.serverName, s.options.MaxCalls),
		Fix:     "raise max_concurrent_calls, or send fewer at a time",
	}))
}

// queuedCall is a call in the queue.
type queuedCall struct {
	ctx context.Context
	rq  *clientRequest
}

// dequeue removes a request from the queue, if it is there. The caller holds mu.
func (s *statelessSession) dequeue(rq *clientRequest) {
	i := slices.IndexFunc(s.queue, func(w queuedCall) bool { return w.rq == rq })
	if i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		s.forget(rq)
	}
}

// startNext passes a free slot to the call that has waited longest.
func (s *statelessSession) startNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.running--
		return
	}
	w := s.queue[0]
	s.dequeue(w.rq)
	s.client.Tasks.Go(func() { s.runCall(w.ctx, w.rq) })
}

// runCall runs one call in a worker of its own.
func (s *statelessSession) runCall(ctx context.Context, rq *clientRequest) {
	defer s.startNext()
	for warm := true; ; warm = false {
		w, d := s.workerFor(ctx, rq, warm)
		if d == nil {
			w.waitLogLevel(ctx)
		} else {
			if ctx.Err() == nil {
				s.fail(rq, *d)
			} else {
				s.dropRequest(rq)
			}
			return
		}
		again := s.serveCall(ctx, w, rq)
		s.exiting <- struct{}{} // at most as many workers end at a time as calls may run
		s.client.Tasks.Go(func() {
			w.waitForLateMessages()
			w.stop()
			<-s.exiting
		})
		if !again {
			s.touchTool(rq.tool)
			return
		}
	}
}

// workerFor returns a worker for a call, past its handshake: a warm one, if there is one
// and warm is set, else a new one.
func (s *statelessSession) workerFor(ctx context.Context, rq *clientRequest, warm bool) (*worker, *diagnostics.Diagnosis) {
	if rq.tool == "" { // "" is the discovery worker, with a policy of its own
		d := s.client.Announce(diagnostics.Diagnosis{
			Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.serverName,
			Explain: diagnostics.PagePerCall,
			What:    fmt.Sprintf("server %q: a call of a tool without a name", s.serverName),
			Fix:     "have the client name the tool",
		})
		return nil, &d
	}
	s.refresh(rq.asked().Logs)
	if d := s.refuseUnlisted(ctx, rq); d != nil {
		return nil, d
	}
	info := rq.info
	t, d := s.resolveTool(rq.tool)
	if d != nil {
		return nil, d
	}
	if warm {
		if w := s.takeWarm(rq.tool, info, t); w != nil {
			return w, nil
		}
	}
	s.startingCalls.Add(1)
	defer func() {
		s.startingCalls.Add(-1)
		s.wake()
	}()
	w, d := s.startWorker(ctx, rq.tool, t, info, false)
	if d != nil {
		return nil, d
	}
	if _, d = w.handshake(ctx); d != nil {
		w.kill()
		return nil, d
	}
	return w, nil
}

var errNoProfile = errors.New("there is no profile")

// resolveTool resolves the policy of a tool on the host as it is now.
func (s *statelessSession) resolveTool(tool string) (Tool, *diagnostics.Diagnosis) {
	t, err := Tool{}, errNoProfile
	if s.options.Tool != nil {
		t, err = s.options.Tool(tool)
	}
	if err == nil && t.Profile == nil {
		err = errNoProfile
	}
	if err == nil {
		return t, nil
	}
	d := diagnostics.ConfigFailure(s.serverName, err.Error())
	d.Tool = tool
	s.client.Announce(d)
	return t, &d
}

// serveCall passes a call to a worker, and waits until the call is answered or the worker has
// ended. again says that a warm worker has ended before it read any of the call; that is no
// failure of the call.
func (s *statelessSession) serveCall(ctx context.Context, w *worker, rq *clientRequest) (again bool) {
	at := w.assign(ctx, rq)
	if at == nil {
		return false
	}
	select {
	case <-rq.done:
		return false
	case <-ctx.Done(): // the session is over
		s.dropRequest(rq)
		return false
	case <-w.ended:
	}
	if w.warm && w.notRead(at) && !session.IsClosed(rq.done) {
		return true
	}
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	w.addExit(&ev)
	if !session.IsClosed(rq.done) {
		s.fail(rq, w.server.Diagnose(ev))
	}
	return false
}

// limitCallTime answers a call when it has taken too long, until stop is called.
func (s *statelessSession) limitCallTime(rq *clientRequest) (stop func()) {
	limit := s.currentProfile().Call
	if limit <= 0 {
		return func() {}
	}
	late := time.AfterFunc(limit, func() {
		s.mu.Lock()
		queued := slices.ContainsFunc(s.queue, func(q queuedCall) bool { return q.rq == rq })
		s.mu.Unlock()
		if s.claim(rq) { // before the worker is told, whose answer to the cancellation could come first
			s.respondClaimed(rq, s.callTimedOut(rq, queued, limit).ErrorFrame(rq.id))
		}
	})
	slow := time.AfterFunc(limit/2, func() {
		s.client.Stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", s.serverName, rq.tool, limit))
	})
	return func() { late.Stop(); slow.Stop() }
}

// callTimedOut returns the diagnosis of a call that has taken too long, and asks its
// worker to stop working on it (MCP, "Cancellation"). queued says that the call had no
// slot yet.
func (s *statelessSession) callTimedOut(rq *clientRequest, queued bool, limit time.Duration) diagnostics.Diagnosis {
	s.mu.Lock()
	w := rq.worker
	s.mu.Unlock()
	if w == nil {
		d := diagnostics.Diagnose(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: s.serverName, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if queued {
			d.Fix = fmt.Sprintf("it had no process yet: only max_concurrent_calls = %d run at once; raise that, or call_timeout_secs", s.options.MaxCalls)
		}
		return s.client.Announce(d)
	}
	w.queue.tryEnqueue(mcpproxy.Parse(session.Cancellation(rq.id, "timed out")))
	ev := w.server.Evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	return w.server.Diagnose(ev)
}
