package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// read takes what the process says to where it belongs.
func (c *child) read() {
	hooks := mcpproxy.Hooks{
		Junk:      c.printed,
		Oversized: func(_ mcpproxy.Side, f *mcpproxy.Frame) { c.unfit(f, c.server.tooLarge(mcpproxy.FromServer, f)) },
	}
	hooks.Receive(c.conn.Reader, func(f *mcpproxy.Frame) error {
		switch {
		case f.Flaws.Ambiguous():
			// Who asked must not be decided by which of two readings is taken.
			c.unfit(f, diagnostics.Diagnosis{
				Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: c.session.name, Tool: c.tool,
				What: fmt.Sprintf("server %q: a message of it can be read in more than one way", c.session.name),
			})
		case f.Batch:
			parts, _ := f.Split()
			for _, part := range parts {
				c.heard(part)
				part.Close()
			}
		default:
			c.heard(f)
		}
		return nil
	})
}

// shows reports whether the client is to see what the process writes to its stderr:
// not what each says alike while it starts. That is told when something fails.
func (c *child) shows() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active || c.tool == ""
}

// printed takes a line of the process's stdout that is no message. What each prints
// alike while it starts is told once.
func (c *child) printed(f *mcpproxy.Frame) {
	if c.shows() {
		c.server.junk(f)
		return
	}
	if line := f.Bytes(); !f.Blank() && line != nil {
		c.server.tail.Write(line)
		c.session.client.say(fmt.Sprintf("server %q writes to its stdout what is no MCP message, such as %s", c.session.name, c.server.redact.Redact(strings.TrimSpace(string(line[:min(len(line), 200)])))))
	}
}

// unfit answers in place of an answer that cannot be passed on.
func (c *child) unfit(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	said := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if e.Kind() == mcpproxy.Request && e.Trackable() {
			said = true
			c.client.note(d)
			c.post(mcpproxy.Parse(d.ErrorFrame(e.ID)))
			continue
		}
		for _, id := range idsOf(f, e) {
			e.ID = id
			if waits := c.waits(e); waits != nil {
				said = true
				waits <- told{unfit: &d}
			} else if rq := c.take(e); rq != nil {
				said = true
				d.Tool = rq.tool
				c.client.note(d)
				c.session.fail(rq, d)
			}
		}
	}
	if !said {
		c.client.errs.Say("mcp-jail: " + d.What + "; it was dropped\n")
	}
}

// take removes the request that a message answers, if it is one of this process: no
// process can answer what another was asked.
func (c *child) take(e *mcpproxy.Envelope) *request {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rq := c.work[mcpproxy.IDKey(e.ID)]
	delete(c.work, mcpproxy.IDKey(e.ID))
	c.freed.Broadcast()
	return rq
}

// heard takes one message of the process.
func (c *child) heard(f *mcpproxy.Frame) {
	if f.Oversized { // a part of a batch that could not be read again
		c.unfit(f, c.server.tooLarge(mcpproxy.FromServer, f))
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Response:
		c.answered(f, e)
	case mcpproxy.Request:
		if c.server.ownAnswer(e, c.conn) {
			return
		}
		switch {
		case !c.mayAsk(string(e.Method)):
			c.refuseAsking(e, "no call is under way that the client could take this for a part of")
		case len(e.ID)+len(e.Token) > maxAskedID:
			c.refuseAsking(e, "the id or the progress token is too long")
		case !c.session.pass(c, f, e):
			c.refuseAsking(e, "too many requests wait for the client")
		default:
			c.session.send(f)
		}
	case mcpproxy.Notification:
		if c.relays(f, e) {
			c.session.send(f)
		}
	}
}

// answered takes an answer of the process.
func (c *child) answered(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if len(e.Own) > 0 {
		forged(f, e)
		if line, whole := f.AppendTo(nil); whole { // nor is it to be kept
			f = mcpproxy.Parse(line)
			e = &f.Messages[0]
		}
	}
	if c.level.answered(e) {
		return
	}
	if waits := c.waits(e); waits != nil {
		if f.Slice(e.Self) == nil {
			waits <- told{unfit: c.unheld(f)}
		} else {
			waits <- told{frame: f.Clone()}
		}
		return
	}
	rq := c.take(e)
	if rq == nil || isClosed(rq.done) {
		c.client.log.Debug().Str("id", string(e.ID)).Msg("an answer that nobody waits for")
		return
	}
	if rq.keep != nil {
		rq.keep(f, e)
	}
	call := rq.call()
	switch {
	case rq.method == "tools/call":
		c.server.callAnswered(f, e, call)
	case e.Error.Present() && isDiscovery(rq.method) && !isProbeAnswer(rq.method, string(e.Code)):
		ev := c.server.evidence(diagnostics.StageList, call, time.Time{})
		ev.Text = textOf(f, e)
		c.server.report(ev)
	}
	c.session.answer(rq, f)
}

// relays reports whether a notification of the process is for the client: what a
// process says before it has a request to work on is not. What it logs behind its
// answer is: some libraries send notifications on the side. That lists have changed is
// said by us, when they have.
func (c *child) relays(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	switch string(e.Method) {
	case "notifications/cancelled":
		return c.session.withdrawn(c, f, e)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if c.tool == "" {
			c.session.changed(c.hello.eraOf())
		}
		return false
	case "notifications/resources/updated", "notifications/subscriptions/acknowledged":
		return false
	case "notifications/progress":
		return c.owns(e.Token)
	}
	if string(e.Method) == "notifications/message" {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.active
	}
	return c.works()
}

// works reports whether the process works on a request of the client, or may.
func (c *child) works() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.work) > 0 || c.active && c.tool == ""
}

// mayAsk reports whether a request of the process is for the client: a question is
// taken for one of the call that the client sees. A spare has none, and who has
// answered has none any more. The roots are asked for ahead by many, and show nobody
// anything.
func (c *child) mayAsk(method string) bool {
	return method == "roots/list" || method == "ping" || c.works()
}

// refuseAsking answers a request of the process.
func (c *child) refuseAsking(e *mcpproxy.Envelope, why string) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), e.ID...)
	c.post(mcpproxy.Parse(append(line, `,"error":{"code":-32603,"message":"mcp-jail: `+why+`"}}`...)))
}

// owns reports whether a progress token is that of a request which the process works
// on: of others' it has nothing to say.
func (c *child) owns(token []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rq := range c.work {
		if t := rq.frame.Messages[0].Token; t != nil && mcpproxy.IDKey(t) == mcpproxy.IDKey(token) {
			return true
		}
	}
	return false
}
