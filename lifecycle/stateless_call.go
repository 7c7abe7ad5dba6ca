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
	maxQueue  = 4096
	maxQueued = 64 << 20 // bytes
)

// enqueue gives a call a slot, or its place in the queue: first in, first out.
func (p *perCall) enqueue(ctx context.Context, rq *request) {
	// Its time runs while it waits.
	context.AfterFunc(ctx, p.limitTime(rq))
	p.mu.Lock()
	switch {
	case p.running < p.options.MaxCalls:
		p.running++
		p.mu.Unlock()
		p.begin(func() { p.call(ctx, rq) })
		return
	case len(p.queue) == 0 || len(p.queue) < maxQueue && p.queued+rq.frame.Size <= maxQueued:
		if p.requests[rq.key()] == rq { // not cancelled meanwhile, nor out of time
			p.queue = append(p.queue, waiting{ctx, rq})
			p.queued += rq.frame.Size
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.fail(rq, p.client.note(diagnostics.Diagnosis{
		Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.name, Tool: rq.tool,
		What: fmt.Sprintf("server %q: too many calls wait already, and max_concurrent_calls = %d run at once", p.name, p.options.MaxCalls),
		Fix:  "raise max_concurrent_calls, or send fewer at a time",
	}))
}

// waiting is a call in the queue.
type waiting struct {
	ctx context.Context
	rq  *request
}

// unqueue takes out a request that no longer waits for a slot. The caller holds mu.
func (p *perCall) unqueue(rq *request) {
	i := slices.IndexFunc(p.queue, func(w waiting) bool { return w.rq == rq })
	if i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		p.queued -= rq.frame.Size
	}
}

// next gives a slot that has become free to the call that has waited longest.
func (p *perCall) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.running--
		return
	}
	w := p.queue[0]
	p.unqueue(w.rq)
	p.client.tasks.Go(func() { p.call(w.ctx, w.rq) })
}

// call runs one call in a process of its own.
func (p *perCall) call(ctx context.Context, rq *request) {
	defer p.next()
	for spare := true; ; spare = false {
		c, d := p.process(ctx, rq, spare)
		if d == nil {
			c.settle(ctx)
		} else {
			if ctx.Err() == nil {
				p.fail(rq, *d)
			} else {
				p.drop(rq)
			}
			return
		}
		again := p.serve(ctx, c, rq)
		p.ending <- struct{}{} // there are never more on their way out than may run
		p.client.tasks.Go(func() {
			c.rest()
			c.end()
			<-p.ending
		})
		if !again {
			p.calledTool(rq.tool)
			return
		}
	}
}

// process returns a process for a call: a spare if there is one and it may be one,
// else a new one, past its handshake.
func (p *perCall) process(ctx context.Context, rq *request, spare bool) (*child, *diagnostics.Diagnosis) {
	if rq.tool == "" { // which stands for the discovery and its policy
		d := p.client.note(diagnostics.Diagnosis{
			Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.name,
			What: fmt.Sprintf("server %q: a call of a tool without a name", p.name),
			Fix:  "have the client name the tool",
		})
		return nil, &d
	}
	if d := p.unlisted(ctx, rq); d != nil {
		return nil, d
	}
	h := rq.hello
	t, d := p.resolve(rq.tool)
	if d != nil {
		return nil, d
	}
	if spare {
		if c := p.takeSpare(rq.tool, h, t.Profile); c != nil {
			return c, nil
		}
	}
	p.booting.Add(1)
	defer func() {
		p.booting.Add(-1)
		p.poke()
	}()
	c, d := p.spawn(ctx, rq.tool, t, h, false)
	if d != nil {
		return nil, d
	}
	if _, d = c.greet(ctx); d != nil {
		c.kill()
		return nil, d
	}
	return c, nil
}

// resolve finds the policy of a tool on the host as it is now.
func (p *perCall) resolve(tool string) (Tool, *diagnostics.Diagnosis) {
	t, err := p.options.Tool(tool)
	if err == nil {
		return t, nil
	}
	d := diagnostics.ConfigFailure(p.name, err.Error())
	d.Tool = tool
	p.client.note(d)
	return t, &d
}

// serve has a process do a call. again: a spare has ended before it had read any of
// it, which is no failure of the call.
func (p *perCall) serve(ctx context.Context, c *child, rq *request) (again bool) {
	at := c.assign(ctx, rq)
	if at == nil {
		return false
	}
	select {
	case <-rq.done:
		return false
	case <-ctx.Done(): // the session ends
		p.drop(rq)
		return false
	case <-c.ended:
	}
	if c.spare && c.unheard(at) && !isClosed(rq.done) {
		return true
	}
	ev := c.server.evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Exit = (*diagnostics.Exit)(&c.exit)
	if !isClosed(rq.done) {
		p.fail(rq, c.server.report(ev))
	}
	return false
}

// limitTime answers a call when it has taken longer than it may. The function that it
// returns ends that.
func (p *perCall) limitTime(rq *request) (stop func()) {
	limit := p.client.config.Profile.Call
	if limit <= 0 {
		return func() {}
	}
	late := time.AfterFunc(limit, func() {
		if !isClosed(rq.done) {
			p.fail(rq, p.late(rq, limit))
		}
	})
	slow := time.AfterFunc(limit/2, func() {
		p.client.errs.Say(fmt.Sprintf("mcp-jail: waiting for the answer of server %q to a call of tool %q, for at most %v\n", p.name, rq.tool, limit))
	})
	return func() { late.Stop(); slow.Stop() }
}

// late is the diagnosis of a call that takes too long; its process is asked to stop
// working on it (MCP, "Cancellation").
func (p *perCall) late(rq *request, limit time.Duration) diagnostics.Diagnosis {
	p.mu.Lock()
	c := rq.child
	queued := slices.ContainsFunc(p.queue, func(w waiting) bool { return w.rq == rq })
	p.mu.Unlock()
	if c == nil {
		d := diagnostics.Diagnose(diagnostics.Evidence{Stage: diagnostics.StageCall, Server: p.name, Tool: rq.tool, Method: rq.method, Stateless: true, Timeout: limit})
		d.Fix = "its process was still being started: raise call_timeout_secs, or keep one ready (warm)"
		if queued {
			d.Fix = fmt.Sprintf("it had no process yet: only max_concurrent_calls = %d run at once; raise that, or call_timeout_secs", p.options.MaxCalls)
		}
		return p.client.note(d)
	}
	cancel := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), rq.id...)
	c.out.offer(mcpproxy.Parse(append(cancel, `,"reason":"timed out"}}`...)))
	ev := c.server.evidence(diagnostics.StageCall, rq.call(), rq.start)
	ev.Timeout = limit
	return c.server.report(ev)
}
