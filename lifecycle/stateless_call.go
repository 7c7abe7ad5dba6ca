package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// What bounds the calls that wait for a slot.
const (
	maxQueuedCalls = 4096
	maxQueuedBytes = 64 << 20 // bytes
)

// queueCall gives a call a slot, or its place in the queue: first in, first out.
func (p *statelessSession) queueCall(ctx context.Context, rq *clientRequest) {
	// Its time runs while it waits.
	context.AfterFunc(ctx, p.limitCallTime(rq))
	p.mu.Lock()
	switch {
	case p.running < p.options.MaxCalls:
		p.running++
		p.mu.Unlock()
		p.goTask(func() { p.runCall(ctx, rq) })
		return
	case len(p.queue) == 0 || len(p.queue) < maxQueuedCalls && p.queuedBytes+rq.frame.Size <= maxQueuedBytes:
		if p.requests[rq.key()] == rq { // not cancelled meanwhile, nor out of time
			p.queue = append(p.queue, queuedCall{ctx, rq})
			p.queuedBytes += rq.frame.Size
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.fail(rq, p.client.announce(diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.serverName, Tool: rq.tool,
		What: fmt.Sprintf("server %q: too many calls wait already, and max_concurrent_calls = %d run at once", p.serverName, p.options.MaxCalls),
		Fix:  "raise max_concurrent_calls, or send fewer at a time",
	}))
}

// queuedCall is a call in the queue.
type queuedCall struct {
	ctx context.Context
	rq  *clientRequest
}

// dequeue takes out a request that no longer waits for a slot. The caller holds mu.
func (p *statelessSession) dequeue(rq *clientRequest) {
	i := slices.IndexFunc(p.queue, func(w queuedCall) bool { return w.rq == rq })
	if i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		p.queuedBytes -= rq.frame.Size
	}
}

// startNext gives a slot that has become free to the call that has waited longest.
func (p *statelessSession) startNext() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.running--
		return
	}
	w := p.queue[0]
	p.dequeue(w.rq)
	p.client.tasks.Go(func() { p.runCall(w.ctx, w.rq) })
}

// runCall runs one call in a process of its own.
func (p *statelessSession) runCall(ctx context.Context, rq *clientRequest) {
	defer p.startNext()
	for spare := true; ; spare = false {
		c, d := p.workerFor(ctx, rq, spare)
		if d == nil {
			c.waitLogLevel(ctx)
		} else {
			if ctx.Err() == nil {
				p.fail(rq, *d)
			} else {
				p.dropRequest(rq)
			}
			return
		}
		again := p.serveCall(ctx, c, rq)
		p.exiting <- struct{}{} // there are never more on their way out than may run
		p.client.tasks.Go(func() {
			c.waitForLateMessages()
			c.stop()
			<-p.exiting
		})
		if !again {
			p.touchTool(rq.tool)
			return
		}
	}
}

// workerFor returns a process for a call: a spare if there is one and it may be one,
// else a new one, past its handshake.
func (p *statelessSession) workerFor(ctx context.Context, rq *clientRequest, spare bool) (*worker, *diagnostics.Diagnosis) {
	if rq.tool == "" { // which stands for the discovery and its policy
		d := p.client.announce(diagnostics.Diagnosis{
			Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.serverName,
			What: fmt.Sprintf("server %q: a call of a tool without a name", p.serverName),
			Fix:  "have the client name the tool",
		})
		return nil, &d
	}
	if d := p.refuseUnlisted(ctx, rq); d != nil {
		return nil, d
	}
	h := rq.info
	t, d := p.resolveTool(rq.tool)
	if d != nil {
		return nil, d
	}
	if spare {
		if c := p.takeWarm(rq.tool, h, t.Profile); c != nil {
			return c, nil
		}
	}
	p.startingCalls.Add(1)
	defer func() {
		p.startingCalls.Add(-1)
		p.wake()
	}()
	c, d := p.startWorker(ctx, rq.tool, t, h, false)
	if d != nil {
		return nil, d
	}
	if _, d = c.handshake(ctx); d != nil {
		c.kill()
		return nil, d
	}
	return c, nil
}

// resolveTool finds the policy of a tool on the host as it is now.
func (p *statelessSession) resolveTool(tool string) (Tool, *diagnostics.Diagnosis) {
	t, err := p.options.Tool(tool)
	if err == nil {
		return t, nil
	}
	d := diagnostics.ConfigFailure(p.serverName, err.Error())
	d.Tool = tool
	p.client.announce(d)
	return t, &d
}

// serveCall has a process do a call. again: a spare has ended before it had read any of
// it, which is no failure of the call.
func (p *statelessSession) serveCall(ctx context.Context, c *worker, rq *clientRequest) (again bool) {
	at := c.assign(ctx, rq)
	if at == nil {
		return false
	}
	select {
	case <-rq.done:
		return false
	case <-ctx.Done(): // the session ends
		p.dropRequest(rq)
		return false
	case <-c.ended:
	}
	if c.warm && c.notRead(at) && !isClosed(rq.done) {
		return true
	}
	ev := c.server.evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Exit = (*diagnostics.Exit)(&c.exit)
	if !isClosed(rq.done) {
		p.fail(rq, c.server.diagnose(ev))
	}
	return false
}

// limitCallTime answers a call when it has taken longer than it may. The function that it
// returns ends that.
func (p *statelessSession) limitCallTime(rq *clientRequest) (stop func()) {
	limit := p.client.config.Profile.Call
	if limit <= 0 {
		return func() {}
	}
	late := time.AfterFunc(limit, func() {
		if !isClosed(rq.done) {
			p.fail(rq, p.callTimedOut(rq, limit))
		}
	})
	slow := time.AfterFunc(limit/2, func() {
		p.client.stderr.Say(fmt.Sprintf("mcp-jail: waiting for the answer of server %q to a call of tool %q, for at most %v\n", p.serverName, rq.tool, limit))
	})
	return func() { late.Stop(); slow.Stop() }
}

// callTimedOut is the diagnosis of a call that takes too long; its process is asked to stop
// working on it (MCP, "Cancellation").
func (p *statelessSession) callTimedOut(rq *clientRequest, limit time.Duration) diagnostics.Diagnosis {
	p.mu.Lock()
	c := rq.worker
	queued := slices.ContainsFunc(p.queue, func(w queuedCall) bool { return w.rq == rq })
	p.mu.Unlock()
	if c == nil {
		d := diagnostics.Diagnose(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: p.serverName, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if queued {
			d.Fix = fmt.Sprintf("it had no process yet: only max_concurrent_calls = %d run at once; raise that, or call_timeout_secs", p.options.MaxCalls)
		}
		return p.client.announce(d)
	}
	cancel := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), rq.id...)
	c.queue.tryEnqueue(mcpproxy.Parse(append(cancel, `,"reason":"timed out"}}`...)))
	ev := c.server.evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	return c.server.diagnose(ev)
}
