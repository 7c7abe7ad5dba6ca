package lifecycle

import (
	"bytes"
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// revalidate asks the server again for what the client was given of an earlier session,
// and tells the client when it is something else by now.
func (p *statelessSession) revalidate(ctx context.Context, era mcpproxy.Era) {
	h := p.infoFor(era)
	if h == nil {
		return
	}
	l := &p.cache
	l.mu.Lock()
	known := l.entryFor(p, h)
	known.markAllStale(time.Now(), p.client.times.tick)
	todo := known.stale
	known.stale = nil
	l.mu.Unlock()
	if len(todo) == 0 {
		return
	}
	c, greeting, d := p.discoveryWorker(ctx, era, h)
	if d != nil {
		return
	}
	changed := map[string]bool{}
	for _, name := range todo {
		answer := greeting
		if name != "initialize" {
			// Without an answer nothing is known to be true.
			answer, _ = c.request(ctx, h.requestFor(name), c.server.profile.Startup)
		}
		if ctx.Err() != nil {
			return
		}
		if l.applyAnswer(p, known, name, answer) {
			changed[listKind(name)] = true
		}
	}
	for _, kind := range []string{"tools", "prompts"} { // that is what is offered: see pruned
		if changed[kind] && era != mcpproxy.Modern {
			p.noteSendError(p.client.proxy.Client.Inject([]byte(`{"jsonrpc":"2.0","method":"notifications/` + kind + `/list_changed"}`)))
		}
	}
}

// applyAnswer takes the server's answer of now, nil for none, in the place of a kept one,
// and reports whether it is another.
func (l *listCache) applyAnswer(p *statelessSession, known *cacheEntry, name string, answer *mcpproxy.Frame) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := known.entry.Answers[name]
	a := catalog.Answer{Stored: time.Now()}
	if answer != nil {
		a.Result = bytes.Clone(answer.Slice(answer.Messages[0].Result))
	}
	keep := a.Result != nil
	if keep {
		a.TTL, a.HasTTL, keep = catalog.TTL(a.Result)
		keep = keep && !isPartial(name, a.Result)
	}
	switch {
	case ok && keep && bytes.Equal(before.Result, a.Result):
		known.entry.Answers[name] = a // on disk it keeps its age: it is not kept for ever
		return false
	case keep:
		l.set(p, known, name, a)
	default:
		delete(known.entry.Answers, name)
	}
	return !ok || !bytes.Equal(before.Result, a.Result)
}

// listKind is what a kept answer lists.
func listKind(name string) string {
	kind, _, _ := bytes.Cut([]byte(name), []byte("/"))
	return string(kind)
}

// onListChanged has lists that a server says have changed asked for anew. A server may say
// so whenever it is asked, or without end: it is taken at its word once a tick.
func (p *statelessSession) onListChanged(era mcpproxy.Era) {
	h := p.infoFor(era)
	if h == nil {
		return
	}
	l := &p.cache
	l.mu.Lock()
	known := l.entryFor(p, h)
	known.changed = true
	soon := time.Since(known.rechecked) >= p.client.times.tick
	l.mu.Unlock()
	if soon {
		p.wake()
	}
}

// markAllStale doubts every list when the server has said that they have changed.
func (k *cacheEntry) markAllStale(now time.Time, pause time.Duration) {
	if !k.changed || now.Sub(k.rechecked) < pause {
		return
	}
	k.changed, k.rechecked = false, now
	for name := range k.entry.Answers {
		if name != "initialize" && name != "server/discover" {
			k.markStale(name)
		}
	}
}
