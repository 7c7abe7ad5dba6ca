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
	todo := known.doubted
	known.doubted = nil
	l.mu.Unlock()
	if len(todo) == 0 {
		return
	}
	c, greeting, d := p.discoverer(ctx, era, h)
	if d != nil {
		l.mu.Lock()
		known.entry.Answers = map[string]catalog.Answer{} // the server does not even start: nothing of it is true
		l.mu.Unlock()
		return
	}
	changed := map[string]bool{}
	for _, name := range todo {
		answer := greeting
		if name != "initialize" {
			var err error
			if answer, err = c.ask(ctx, h.request(name), c.Profile.Startup); err != nil {
				return
			}
		}
		e := &answer.Messages[0]
		l.mu.Lock()
		before := known.entry.Answers[name]
		result := answer.Slice(e.Result)
		if !bytes.Equal(before.Result, result) {
			if result == nil {
				delete(known.entry.Answers, name)
			} else {
				l.store(p, known, name, catalog.Answer{Result: bytes.Clone(result), Stored: time.Now()})
			}
			changed[answerKind(name)] = true
		}
		l.mu.Unlock()
	}
	for _, kind := range []string{"tools", "prompts", "resources"} {
		if changed[kind] && era != mcpproxy.Modern {
			p.sent(p.proxy.Client.Inject([]byte(`{"jsonrpc":"2.0","method":"notifications/` + kind + `/list_changed"}`)))
		}
	}
}

// answerKind is what a kept answer lists.
func answerKind(name string) string {
	kind, _, _ := bytes.Cut([]byte(name), []byte("/"))
	return string(kind)
}

// recheck has lists that a server says have changed asked for anew.
func (p *perCall) recheck(era mcpproxy.Era) {
	h := p.handshakeFor(era)
	if h == nil {
		return
	}
	l := &p.lists
	l.mu.Lock()
	known := l.of(p, h)
	for name := range known.entry.Answers {
		if name != "initialize" && name != "server/discover" {
			known.doubt(name)
		}
	}
	l.mu.Unlock()
	p.poke()
}
