package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// discovery is the process, under the default policy, that is asked what is no call of
// a tool: one for each era, since a server may settle for the era of what it hears
// first. It is started when it is needed, and ends when it no longer is.
type discovery struct {
	mu       sync.Mutex
	child    *child
	greeting *mcpproxy.Frame // its answer to the handshake; nil in the modern era
	failed   failedStart
}

// failedStart is a start that failed: those who waited for it need not wait for
// another.
type failedStart struct {
	at     time.Time
	hello  *hello
	answer *mcpproxy.Frame
	why    *diagnostics.Diagnosis
}

// discoverer returns the running discovery process of an era, and its answer to the
// client's handshake.
func (p *perCall) discoverer(ctx context.Context, era mcpproxy.Era, h *hello) (*child, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	d := &p.discoveries[eraIndex(era)]
	since := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.child; c != nil {
		// In the modern era each request says for itself who asks.
		if !isClosed(c.proc.Done()) && (era == mcpproxy.Modern || c.hello.same(h)) {
			c.touch()
			return c, d.greeting, nil
		}
		p.client.tasks.Go(c.retire)
		d.child = nil
	}
	if f := &d.failed; f.why != nil && f.at.After(since) && f.hello.same(h) {
		return nil, f.answer, f.why
	}
	c, greeting, why := p.startDiscovery(ctx, h)
	if why == nil {
		d.child, d.greeting = c, greeting
	} else if ctx.Err() == nil { // not only that nobody waits
		d.failed = failedStart{time.Now(), h, greeting, why}
		p.lists.forget(p, h) // before anybody hears of it: a server that does not start offers nothing
	}
	return c, greeting, why
}

// startDiscovery starts a discovery process and takes it through the handshake.
func (p *perCall) startDiscovery(ctx context.Context, h *hello) (*child, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	t, why := p.resolve("")
	if why != nil {
		return nil, nil, why
	}
	c, why := p.spawn(ctx, "", t, h, false)
	if why != nil {
		return nil, nil, why
	}
	c.touch()
	greeting, why := c.greet(ctx)
	if why != nil {
		p.client.tasks.Go(c.end)
		return nil, greeting, why
	}
	return c, greeting, nil
}

func eraIndex(era mcpproxy.Era) int {
	if era == mcpproxy.Modern {
		return 1
	}
	return 0
}

// leave takes out a discovery process: what comes now is for another one.
func (p *perCall) leave(c *child) {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		d.mu.Lock()
		if d.child == c {
			d.child = nil
		}
		d.mu.Unlock()
	}
}

// endIdle ends discovery processes that nobody has asked anything for a while.
func (p *perCall) endIdle(now time.Time) {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		if !d.mu.TryLock() {
			continue // it is being started
		}
		if c := d.child; c != nil && c.idleSince(now) > p.client.times.discovery {
			d.child = nil
			p.client.tasks.Go(c.end)
		}
		d.mu.Unlock()
	}
}

// retire ends a process when nobody waits for an answer of it any more.
func (c *child) retire() {
	c.mu.Lock()
	for len(c.work)+len(c.own) > 0 && !c.gone {
		c.freed.Wait()
	}
	c.mu.Unlock()
	c.end()
}

// endDiscoveries ends them all.
func (p *perCall) endDiscoveries() {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		p.client.tasks.Go(func() {
			d.mu.Lock()
			c := d.child
			d.child = nil
			d.mu.Unlock()
			if c != nil {
				c.end()
			}
		})
	}
}

// touch notes that the process is of use.
func (c *child) touch() {
	c.mu.Lock()
	c.used = time.Now()
	c.mu.Unlock()
}

// idleSince is how long nothing has been asked of the process.
func (c *child) idleSince(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.work) > 0 || len(c.own) > 0 {
		return 0
	}
	return now.Sub(c.used)
}

// initialize answers a client's handshake: from the catalogue, or with what the
// discovery process has answered to the same.
func (p *perCall) initialize(ctx context.Context, rq *request) {
	h := rq.hello
	if h == nil {
		p.decline(rq, "the handshake is too large to be repeated to each process")
		return
	}
	if a, ok := p.lists.get(p, h, rq); ok {
		p.result(rq, a.member(), pruned(a.value, false))
		return
	}
	_, greeting, d := p.discoverer(ctx, mcpproxy.Legacy, h)
	if greeting == nil {
		p.fail(rq, *d)
		return
	}
	e := &greeting.Messages[0]
	if e.Error.Present() {
		p.result(rq, "error", greeting.Slice(e.Error))
		return
	}
	p.lists.put(p, h, rq, greeting, e)
	p.result(rq, "result", pruned(greeting.Slice(e.Result), false))
}

// discover answers server/discover, in the name of a server that ends on it or
// ignores it, too: see shield.
func (p *perCall) discover(ctx context.Context, rq *request) {
	h := rq.hello
	if a, ok := p.lists.get(p, h, rq); ok {
		p.result(rq, a.member(), pruned(a.value, true))
		return
	}
	c, _, d := p.discoverer(ctx, mcpproxy.Modern, h)
	if d != nil {
		p.fail(rq, *d)
		return
	}
	line, whole := rq.frame.AppendTo(nil)
	if !whole {
		p.decline(rq, "the request is too large to be repeated")
		return
	}
	f := mcpproxy.Parse(line)
	c.server.tellLimits(f, &f.Messages[0])
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	quit := make(chan struct{})
	defer close(quit)
	ignored := c.whenIgnored(quit)
	p.client.tasks.Go(func() {
		select {
		case <-ignored:
			cancel()
		case <-quit:
		}
	})
	answer, err := c.ask(asking, f, c.server.Profile.Startup)
	switch {
	case err == nil:
		e := &answer.Messages[0]
		p.lists.put(p, h, rq, answer, e)
		if e.Error.Present() {
			if !isProbeAnswer("server/discover", string(e.Code)) {
				ev := c.server.evidence(diagnostics.StageList, rq.call(), time.Time{})
				ev.Text = textOf(answer, e)
				c.server.report(ev)
			}
			p.result(rq, "error", answer.Slice(e.Error))
			return
		}
		p.result(rq, "result", pruned(answer.Slice(e.Result), true))
	case ctx.Err() != nil:
		p.drop(rq)
	case err == errEnded:
		p.shield(rq, fmt.Sprintf("ended on server/discover (%s)", exitWords(c.exit)))
	case asking.Err() != nil:
		p.leave(c)
		p.shield(rq, fmt.Sprintf("has ignored server/discover for %v", p.client.times.probe))
		c.kill()
	default:
		p.fail(rq, *c.bootFailure(ctx, err))
	}
}

// shield answers the probe in the server's name.
func (p *perCall) shield(rq *request, why string) {
	p.client.log.Info().Str("server", p.name).Str("why", why).Msg("answered server/discover in the server's name")
	text := fmt.Sprintf("mcp-jail: server %q %s; taken for one that does not know it", p.name, why)
	p.result(rq, "error", fmt.Appendf(nil, `{"code":-32601,"message":%s,"data":{"dev.mcp-jail/shield":{"server":%s,"method":"server/discover"}}}`, quoted(text), quoted(p.name)))
}

// ask has the discovery process answer, unless the catalogue knows.
func (p *perCall) ask(ctx context.Context, rq *request) {
	h := rq.hello
	if isListed(rq.method) {
		if a, ok := p.lists.get(p, h, rq); ok {
			p.listed(rq, a.value)
			p.result(rq, a.member(), a.value)
			return
		}
		rq.keep = func(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
			p.lists.put(p, h, rq, f, e)
			if e.Result.Present() {
				p.listed(rq, f.Slice(e.Result))
			}
		}
	}
	for again := false; ; again = true {
		c, _, d := p.discoverer(ctx, rq.era, h)
		if d != nil {
			p.fail(rq, *d)
			return
		}
		at := c.assign(ctx, rq)
		if at == nil {
			return
		}
		select {
		case <-rq.done:
			return
		case <-ctx.Done():
			p.drop(rq)
			return
		case <-c.ended:
		}
		if isClosed(rq.done) {
			return
		}
		if !again && c.unheard(at) { // it was on its way out
			continue
		}
		stage := diagnostics.StageCall
		if isDiscovery(rq.method) {
			stage = diagnostics.StageList
		}
		ev := c.server.evidence(stage, rq.call(), rq.start)
		ev.Exit = (*diagnostics.Exit)(&c.exit)
		p.fail(rq, c.server.report(ev))
		return
	}
}

// pruned is what a server says it can, without what needs a process that lives on:
// to tell of changes, and to work on tasks. In the legacy era we tell ourselves when
// the lists of tools or prompts have changed.
func pruned(result []byte, modern bool) []byte {
	return amended(result, "capabilities", func(capabilities []byte) []byte {
		capabilities = members(capabilities, func(name string) bool { return name != "tasks" })
		capabilities = amended(capabilities, "resources", func(r []byte) []byte {
			return members(r, func(name string) bool { return name != "subscribe" && name != "listChanged" })
		})
		if modern { // subscriptions/listen is acknowledged with the empty filter
			for _, kind := range []string{"tools", "prompts"} {
				capabilities = amended(capabilities, kind, func(r []byte) []byte {
					return members(r, func(name string) bool { return name != "listChanged" })
				})
			}
		}
		return capabilities
	})
}

// amended is an object with the value of a member changed, where there is one.
func amended(object []byte, member string, change func([]byte) []byte) []byte {
	out, found := []byte{'{'}, false
	eachMember(object, func(name string, _ int64, value []byte) {
		if name == member {
			found = true
			value = change(value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), value...)
	})
	if !found {
		return object
	}
	return append(out, '}')
}
