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
	mu              sync.Mutex
	worker          *worker
	initializeReply *mcpproxy.Frame // its answer to the handshake; nil in the modern era
	failed          failedStart
}

// failedStart is a start that failed: those who waited for it need not wait for
// another.
type failedStart struct {
	at     time.Time
	info   *clientInfo
	answer *mcpproxy.Frame
	why    *diagnostics.Diagnosis
}

// discoveryWorker returns the running discovery process of an era, and its answer to the
// client's handshake.
func (p *statelessSession) discoveryWorker(ctx context.Context, era mcpproxy.Era, h *clientInfo) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	d := &p.discoveries[eraIndex(era)]
	since := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.worker; c != nil {
		// In the modern era each request says for itself who asks.
		if !isClosed(c.proc.Done()) && (era == mcpproxy.Modern || c.info.matches(h)) {
			c.touch()
			return c, d.initializeReply, nil
		}
		p.client.tasks.Go(c.stopWhenIdle)
		d.worker = nil
	}
	if f := &d.failed; f.why != nil && f.at.After(since) && f.info.matches(h) {
		return nil, f.answer, f.why
	}
	c, greeting, why := p.startDiscovery(ctx, h)
	if why == nil {
		d.worker, d.initializeReply = c, greeting
	} else if ctx.Err() == nil { // not only that nobody waits
		d.failed = failedStart{time.Now(), h, greeting, why}
		p.cache.invalidate(p, h) // before anybody hears of it: a server that does not start offers nothing
	}
	return c, greeting, why
}

// startDiscovery starts a discovery process and takes it through the handshake.
func (p *statelessSession) startDiscovery(ctx context.Context, h *clientInfo) (*worker, *mcpproxy.Frame, *diagnostics.Diagnosis) {
	t, why := p.resolveTool("")
	if why != nil {
		return nil, nil, why
	}
	c, why := p.startWorker(ctx, "", t, h, false)
	if why != nil {
		return nil, nil, why
	}
	c.touch()
	greeting, why := c.handshake(ctx)
	if why != nil {
		p.client.tasks.Go(c.stop)
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

// removeDiscovery takes out a discovery process: what comes now is for another one.
func (p *statelessSession) removeDiscovery(c *worker) {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		d.mu.Lock()
		if d.worker == c {
			d.worker = nil
		}
		d.mu.Unlock()
	}
}

// stopIdleDiscovery ends discovery processes that nobody has asked anything for a while.
func (p *statelessSession) stopIdleDiscovery(now time.Time) {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		if !d.mu.TryLock() {
			continue // it is being started
		}
		if c := d.worker; c != nil && c.idleTime(now) > p.client.times.discoveryIdle {
			d.worker = nil
			p.client.tasks.Go(c.stop)
		}
		d.mu.Unlock()
	}
}

// stopWhenIdle ends a process when nobody waits for an answer of it any more.
func (c *worker) stopWhenIdle() {
	c.mu.Lock()
	for len(c.requests)+len(c.waiters) > 0 && !c.removed {
		c.freed.Wait()
	}
	c.mu.Unlock()
	c.stop()
}

// stopDiscovery ends them all.
func (p *statelessSession) stopDiscovery() {
	for i := range p.discoveries {
		d := &p.discoveries[i]
		p.client.tasks.Go(func() {
			d.mu.Lock()
			c := d.worker
			d.worker = nil
			d.mu.Unlock()
			if c != nil {
				c.stop()
			}
		})
	}
}

// touch notes that the process is of use.
func (c *worker) touch() {
	c.mu.Lock()
	c.lastUsed = time.Now()
	c.mu.Unlock()
}

// idleTime is how long nothing has been asked of the process.
func (c *worker) idleTime(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) > 0 || len(c.waiters) > 0 {
		return 0
	}
	return now.Sub(c.lastUsed)
}

// answerInitialize answers a client's handshake: from the catalogue, or with what the
// discovery process has answered to the same.
func (p *statelessSession) answerInitialize(ctx context.Context, rq *clientRequest) {
	h := rq.info
	if h == nil {
		p.decline(rq, "the handshake is too large to be repeated to each process")
		return
	}
	if a, ok := p.cache.lookup(p, h, rq); ok {
		p.respondWith(rq, a.member(), stripCapabilities(a.value, false))
		return
	}
	_, greeting, d := p.discoveryWorker(ctx, mcpproxy.Legacy, h)
	if greeting == nil {
		p.fail(rq, *d)
		return
	}
	e := &greeting.Messages[0]
	if e.Error.Present() {
		p.respondWith(rq, "error", greeting.Slice(e.Error))
		return
	}
	p.cache.store(p, h, rq, greeting, e)
	p.respondWith(rq, "result", stripCapabilities(greeting.Slice(e.Result), false))
}

// answerDiscover answers server/discover, in the name of a server that ends on it or
// ignores it, too: see shield.
func (p *statelessSession) answerDiscover(ctx context.Context, rq *clientRequest) {
	h := rq.info
	if a, ok := p.cache.lookup(p, h, rq); ok {
		p.respondWith(rq, a.member(), stripCapabilities(a.value, true))
		return
	}
	c, _, d := p.discoveryWorker(ctx, mcpproxy.Modern, h)
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
	c.server.advertise(f, &f.Messages[0])
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	quit := make(chan struct{})
	defer close(quit)
	ignored := c.watchIgnored(quit)
	p.client.tasks.Go(func() {
		select {
		case <-ignored:
			cancel()
		case <-quit:
		}
	})
	answer, err := c.request(asking, f, c.server.profile.Startup)
	switch {
	case err == nil:
		e := &answer.Messages[0]
		p.cache.store(p, h, rq, answer, e)
		if e.Error.Present() {
			if !declinesMethod("server/discover", string(e.Code)) {
				ev := c.server.evidence(diagnostics.StageList, rq.call(), time.Time{})
				ev.Text = failureText(answer, e)
				c.server.diagnose(ev)
			}
			p.respondWith(rq, "error", answer.Slice(e.Error))
			return
		}
		p.respondWith(rq, "result", stripCapabilities(answer.Slice(e.Result), true))
	case ctx.Err() != nil:
		p.dropRequest(rq)
	case err == errExited:
		p.declineDiscover(rq, fmt.Sprintf("ended on server/discover (%s)", exitText(c.exit)))
	case asking.Err() != nil:
		p.removeDiscovery(c)
		p.declineDiscover(rq, fmt.Sprintf("has ignored server/discover for %v", p.client.times.discover))
		c.kill()
	default:
		p.fail(rq, *c.startupFailure(ctx, err))
	}
}

// declineDiscover answers the probe in the server's name.
func (p *statelessSession) declineDiscover(rq *clientRequest, why string) {
	p.client.log.Info().Str("server", p.serverName).Str("why", why).Msg("answered server/discover in the server's name")
	text := fmt.Sprintf("mcp-jail: server %q %s; taken for one that does not know it", p.serverName, why)
	p.respondWith(rq, "error", fmt.Appendf(nil, `{"code":-32601,"message":%s,"data":{"dev.mcp-jail/shield":{"server":%s,"method":"server/discover"}}}`, jsonString(text), jsonString(p.serverName)))
}

// answerFromDiscovery has the discovery process answer, unless the catalogue knows.
func (p *statelessSession) answerFromDiscovery(ctx context.Context, rq *clientRequest) {
	h := rq.info
	if isCacheable(rq.method) {
		if a, ok := p.cache.lookup(p, h, rq); ok {
			p.onToolsList(rq, a.value)
			p.respondWith(rq, a.member(), a.value)
			return
		}
		rq.onResponse = func(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
			p.cache.store(p, h, rq, f, e)
			if e.Result.Present() {
				p.onToolsList(rq, f.Slice(e.Result))
			}
		}
	}
	for again := false; ; again = true {
		c, _, d := p.discoveryWorker(ctx, rq.era, h)
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
			p.dropRequest(rq)
			return
		case <-c.ended:
		}
		if isClosed(rq.done) {
			return
		}
		if !again && c.notRead(at) { // it was on its way out
			continue
		}
		stage := diagnostics.StageCall
		if isDiscoveryMethod(rq.method) {
			stage = diagnostics.StageList
		}
		ev := c.server.evidence(stage, rq.call(), rq.start)
		ev.Exit = (*diagnostics.Exit)(&c.exit)
		p.fail(rq, c.server.diagnose(ev))
		return
	}
}

// stripCapabilities is what a server says it can, without what needs a process that lives on:
// to tell of changes, and to work on tasks. In the legacy era we tell ourselves when
// the lists of tools or prompts have changed.
func stripCapabilities(result []byte, modern bool) []byte {
	return replaceMember(result, "capabilities", func(capabilities []byte) []byte {
		capabilities = filterMembers(capabilities, func(name string) bool { return name != "tasks" })
		capabilities = replaceMember(capabilities, "resources", func(r []byte) []byte {
			return filterMembers(r, func(name string) bool { return name != "subscribe" && name != "listChanged" })
		})
		if modern { // subscriptions/listen is acknowledged with the empty filter
			for _, kind := range []string{"tools", "prompts"} {
				capabilities = replaceMember(capabilities, kind, func(r []byte) []byte {
					return filterMembers(r, func(name string) bool { return name != "listChanged" })
				})
			}
		}
		return capabilities
	})
}

// replaceMember is an object with the value of a member changed, where there is one.
func replaceMember(object []byte, member string, change func([]byte) []byte) []byte {
	out, found := []byte{'{'}, false
	eachMember(object, func(name string, _ int64, value []byte) {
		if name == member {
			found = true
			value = change(value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, jsonString(name)...), ':'), value...)
	})
	if !found {
		return object
	}
	return append(out, '}')
}
