package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// hello is what the client has said of itself: the handshake that each process gets.
type hello struct {
	era  mcpproxy.Era
	key  []byte // of what a server's answers may depend on
	line []byte // legacy: the client's initialize; modern: a server/discover of ours in its name
}

// same reports whether a process that was greeted with one can serve who says the
// other.
func (h *hello) same(other *hello) bool {
	return h == other || h != nil && other != nil && h.era == other.era && bytes.Equal(h.key, other.key)
}

func (h *hello) eraOf() mcpproxy.Era {
	if h == nil {
		return mcpproxy.Legacy
	}
	return h.era
}

func (h *hello) eraName() string {
	if h.era == mcpproxy.Modern {
		return "modern"
	}
	return "legacy"
}

// request is a request of ours in the client's name: that which catalog.Request
// calls so.
func (h *hello) request(name string) *mcpproxy.Frame {
	method, params, _ := bytes.Cut([]byte(name), []byte(" "))
	if params == nil {
		params = []byte("{}")
	}
	if h.eraOf() == mcpproxy.Modern {
		meta := object("_meta", h.key)
		if len(params) > len("{}") {
			meta = append(append(meta[:len(meta)-1], ','), params[1:]...)
		}
		params = meta
	}
	return mcpproxy.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":%s,"params":%s}`+"\n", quoted(string(method)), params))
}

// learnLegacy remembers the client's initialize, to be replayed to each process.
// One that is not held in memory cannot be: nil.
func (p *perCall) learnLegacy(f *mcpproxy.Frame, e *mcpproxy.Envelope) *hello {
	line, whole := f.AppendTo(nil)
	if !whole {
		return nil
	}
	h := &hello{era: mcpproxy.Legacy, line: line, key: members(f.Slice(e.Params), func(name string) bool { return name != "_meta" })}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.legacy.same(h) {
		h = p.legacy
	}
	p.legacy, p.last = h, h
	return h
}

// learnModern remembers what a modern request says of the client (2026-07-28,
// "Request metadata").
func (p *perCall) learnModern(f *mcpproxy.Frame, e *mcpproxy.Envelope) *hello {
	const prefix = "io.modelcontextprotocol/"
	key := members(f.Slice(e.ParamsMeta), func(name string) bool {
		return name == mcpproxy.VersionKey || name == prefix+"clientCapabilities" || name == prefix+"clientInfo"
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.modern != nil && bytes.Equal(p.modern.key, key) {
		p.last = p.modern
		return p.modern
	}
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":%s}}`+"\n", key)
	p.modern = &hello{era: mcpproxy.Modern, key: key, line: line}
	p.last = p.modern
	return p.modern
}

// latest is how the client has introduced itself last.
func (p *perCall) latest() *hello {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// handshakeFor is what a process for requests of that era has to go through; nil when
// the client has not introduced itself, which is then the server's to refuse.
func (p *perCall) handshakeFor(era mcpproxy.Era) *hello {
	p.mu.Lock()
	defer p.mu.Unlock()
	if era == mcpproxy.Modern {
		return p.modern
	}
	return p.legacy
}

// introduced is how the client has said who it is, for a request that does not say it:
// by its handshake, else with its requests of 2026-07-28.
func (p *perCall) introduced() (mcpproxy.Era, *hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.legacy == nil && p.modern != nil {
		return mcpproxy.Modern, p.modern
	}
	return mcpproxy.Legacy, p.legacy
}

// greet takes a process through the client's handshake and returns the answer to it.
// A modern one needs none.
func (c *child) greet(ctx context.Context) (answer *mcpproxy.Frame, d *diagnostics.Diagnosis) {
	h := c.hello
	if h == nil || h.era == mcpproxy.Modern {
		c.ready()
		return nil, nil
	}
	f := mcpproxy.Parse(h.line)
	c.server.tellLimits(f, &f.Messages[0])
	slow := time.AfterFunc(c.client.times.bootNote, func() {
		if c.server.quiet.Load() {
			return
		}
		c.client.errs.Say(fmt.Sprintf("mcp-jail: waiting for the first answer of server %q%s; %v so far\n", c.session.name, c.forTool(), c.client.times.bootNote))
	})
	defer slow.Stop()
	answer, err := c.ask(ctx, f, c.server.Profile.Startup)
	if err != nil {
		return nil, c.bootFailure(ctx, err)
	}
	if e := &answer.Messages[0]; e.Error.Present() {
		ev := c.server.evidence(diagnostics.StageBoot, &mcpproxy.Call{Method: []byte("initialize"), Tool: []byte(c.tool)}, time.Time{})
		ev.Text = textOf(answer, e)
		failed := c.server.report(ev)
		return answer, &failed
	}
	c.post(mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")))
	c.ready()
	return answer, nil
}

// ready notes that a process works. From then on it hears what the client says to
// everybody, and first what it has said already.
func (c *child) ready() {
	p, room := c.session, true
	p.mu.Lock()
	p.started, c.greeted = true, true
	if p.level != nil && c.hello != nil && c.hello.era == mcpproxy.Legacy {
		room = c.out.offer(p.setLevelTo(c))
	}
	p.mu.Unlock()
	if !room {
		c.deaf()
	}
}

func (c *child) forTool() string {
	if c.tool == "" {
		return ""
	}
	return fmt.Sprintf(" for tool %q", c.tool)
}

// bootFailure is the diagnosis of a process that gave no first answer.
func (c *child) bootFailure(ctx context.Context, err error) *diagnostics.Diagnosis {
	var answer told
	if errors.As(err, &answer) {
		c.server.noteFor(*answer.unfit)
		return answer.unfit
	}
	ev := c.server.evidence(diagnostics.StageBoot, nil, time.Time{})
	ev.Tool = c.tool
	switch {
	case ctx.Err() != nil:
		d := diagnostics.Diagnose(ev)
		return &d
	case err == errSilent:
		ev.Timeout = c.server.Profile.Startup
	default:
		ev.Exit = (*diagnostics.Exit)(&c.exit)
	}
	d := c.server.report(ev)
	return &d
}

// members is an object with those members of another that are to be kept, each with
// its own bytes.
func members(object []byte, keep func(name string) bool) []byte {
	if len(object) > 0 && object[0] != '{' {
		return object
	}
	kept := []byte{'{'}
	eachMember(object, func(name string, _ int64, value []byte) {
		if !keep(name) {
			return
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, quoted(name)...), ':'), value...)
	})
	return append(kept, '}')
}
