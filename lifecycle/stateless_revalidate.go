package lifecycle

import (
	"bytes"
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// verify asks the server again for what the client was given of an earlier session,
// and tells the client when it is something else by now.
func (p *perCall) verify(ctx context.Context, era mcpproxy.Era) {
	h := p.handshakeFor(era)
	if h == nil {
		return
	}
	l := &p.lists
	l.mu.Lock()
	known := l.of(p, h)
	known.recheck(time.Now(), p.client.times.tick)
	todo := known.doubted
	known.doubted = nil
	l.mu.Unlock()
	if len(todo) == 0 {
		return
	}
	c, greeting, d := p.discoverer(ctx, era, h)
	if d != nil {
		return
	}
	changed := map[string]bool{}
	for _, name := range todo {
		answer := greeting
		if name != "initialize" {
			// Without an answer nothing is known to be true.
			answer, _ = c.ask(ctx, h.request(name), c.server.Profile.Startup)
		}
		if ctx.Err() != nil {
			return
		}
		if l.verified(p, known, name, answer) {
			changed[answerKind(name)] = true
		}
	}
	for _, kind := range []string{"tools", "prompts"} { // that is what is offered: see pruned
		if changed[kind] && era != mcpproxy.Modern {
			p.sent(p.client.proxy.Client.Inject([]byte(`{"jsonrpc":"2.0","method":"notifications/` + kind + `/list_changed"}`)))
		}
	}
}

// verified takes the server's answer of now, nil for none, in the place of a kept one,
// and reports whether it is another.
func (l *listing) verified(p *perCall, known *listed, name string, answer *mcpproxy.Frame) (changed bool) {
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
		keep = keep && !paged(name, a.Result)
	}
	switch {
	case ok && keep && bytes.Equal(before.Result, a.Result):
		known.entry.Answers[name] = a // on disk it keeps its age: it is not kept for ever
		return false
	case keep:
		l.store(p, known, name, a)
	default:
		delete(known.entry.Answers, name)
	}
	return !ok || !bytes.Equal(before.Result, a.Result)
}

// answerKind is what a kept answer lists.
func answerKind(name string) string {
	kind, _, _ := bytes.Cut([]byte(name), []byte("/"))
	return string(kind)
}

// changed has lists that a server says have changed asked for anew. A server may say
// so whenever it is asked, or without end: it is taken at its word once a tick.
func (p *perCall) changed(era mcpproxy.Era) {
	h := p.handshakeFor(era)
	if h == nil {
		return
	}
	l := &p.lists
	l.mu.Lock()
	known := l.of(p, h)
	known.changed = true
	soon := time.Since(known.rechecked) >= p.client.times.tick
	l.mu.Unlock()
	if soon {
		p.poke()
	}
}

// recheck doubts every list when the server has said that they have changed.
func (k *listed) recheck(now time.Time, pause time.Duration) {
	if !k.changed || now.Sub(k.rechecked) < pause {
		return
	}
	k.changed, k.rechecked = false, now
	for name := range k.entry.Answers {
		if name != "initialize" && name != "server/discover" {
			k.doubt(name)
		}
	}
}
