package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// read takes what the process says to where it belongs.
func (c *worker) read() {
	hooks := mcpproxy.Hooks{
		Junk: c.onNonMessage,
		Oversized: func(_ mcpproxy.Side, f *mcpproxy.Frame) {
			c.rejectReply(f, c.server.tooLargeDiagnosis(mcpproxy.FromServer, f))
		},
	}
	hooks.Receive(c.conn.Reader, func(f *mcpproxy.Frame) error {
		switch {
		case f.Flaws.Ambiguous():
			// Who asked must not be decided by which of two readings is taken.
			c.rejectReply(f, diagnostics.Diagnosis{
				Code: -32603, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: c.session.serverName, Tool: c.tool,
				What: fmt.Sprintf("server %q: a message of it can be read in more than one way", c.session.serverName),
			})
		case f.Batch:
			parts, _ := f.Split()
			for _, part := range parts {
				c.onMessage(part)
				part.Close()
			}
		default:
			c.onMessage(f)
		}
		return nil
	})
}

// showsStderr reports whether the client is to see what the process writes to its stderr:
// not what each says alike while it starts. That is told when something fails.
func (c *worker) showsStderr() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active || c.tool == ""
}

// onNonMessage takes a line of the process's stdout that is no message. What each prints
// alike while it starts is told once.
func (c *worker) onNonMessage(f *mcpproxy.Frame) {
	if c.showsStderr() {
		c.server.showNonMessage(f)
		return
	}
	if line := f.Bytes(); !f.Blank() && line != nil {
		c.server.tail.Write(line)
		c.session.client.sayOnce(fmt.Sprintf("server %q writes to its stdout what is no MCP message, such as %s", c.session.serverName, c.server.redact.Redact(strings.TrimSpace(string(line[:min(len(line), 200)])))))
	}
}

// rejectReply answers in place of an answer that cannot be passed on.
func (c *worker) rejectReply(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	said := false
	for i := range f.Messages {
		e := &f.Messages[i]
		if e.Kind() == mcpproxy.Request && e.Trackable() {
			said = true
			c.client.announce(d)
			c.trySend(mcpproxy.Parse(d.ErrorFrame(e.ID)))
			continue
		}
		for _, id := range idsOf(f, e) {
			e.ID = id
			if waits := c.waiter(e); waits != nil {
				said = true
				waits <- reply{rejected: &d}
			} else if rq := c.takeRequest(e); rq != nil {
				said = true
				d.Tool = rq.tool
				c.client.announce(d)
				c.session.fail(rq, d)
			}
		}
	}
	if !said {
		c.client.stderr.Say("mcp-jail: " + d.What + "; it was dropped\n")
	}
}

// takeRequest removes the request that a message answers, if it is one of this process: no
// process can answer what another was asked.
func (c *worker) takeRequest(e *mcpproxy.Envelope) *clientRequest {
	if e.Kind() != mcpproxy.Response || !e.Trackable() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	rq := c.requests[mcpproxy.IDKey(e.ID)]
	delete(c.requests, mcpproxy.IDKey(e.ID))
	c.freed.Broadcast()
	return rq
}

// onMessage takes one message of the process.
func (c *worker) onMessage(f *mcpproxy.Frame) {
	if f.Oversized { // a part of a batch that could not be read again
		c.rejectReply(f, c.server.tooLargeDiagnosis(mcpproxy.FromServer, f))
		return
	}
	e := &f.Messages[0]
	switch e.Kind() {
	case mcpproxy.Response:
		c.onResponse(f, e)
	case mcpproxy.Request:
		if c.server.answerRootsList(e, c.conn) {
			return
		}
		switch {
		case !c.mayRequest(string(e.Method)):
			c.refuseRequest(e, "no call is under way that the client could take this for a part of")
		case len(e.ID)+len(e.Token) > maxRequestIDLen:
			c.refuseRequest(e, "the id or the progress token is too long")
		case !c.session.forwardServerRequest(c, f, e):
			c.refuseRequest(e, "too many requests wait for the client")
		default:
			c.session.sendToClient(f)
		}
	case mcpproxy.Notification:
		if c.forwards(f, e) {
			c.session.sendToClient(f)
		}
	}
}

// onResponse takes an answer of the process.
func (c *worker) onResponse(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if len(e.Reserved) > 0 {
		stripReserved(f, e)
		if line, whole := f.AppendTo(nil); whole { // nor is it to be kept
			f = mcpproxy.Parse(line)
			e = &f.Messages[0]
		}
	}
	if c.logLevel.answered(e) {
		return
	}
	if waits := c.waiter(e); waits != nil {
		if f.Slice(e.Self) == nil {
			waits <- reply{rejected: c.tooLargeToBuffer(f)}
		} else {
			waits <- reply{frame: f.Clone()}
		}
		return
	}
	rq := c.takeRequest(e)
	if rq == nil || isClosed(rq.done) {
		c.client.log.Debug().Str("id", string(e.ID)).Msg("an answer that nobody waits for")
		return
	}
	if rq.onResponse != nil {
		rq.onResponse(f, e)
	}
	call := rq.call()
	switch {
	case rq.method == "tools/call":
		c.server.annotateResult(f, e, call)
	case e.Error.Present() && isDiscoveryMethod(rq.method) && !declinesMethod(rq.method, string(e.Code)):
		ev := c.server.evidence(diagnostics.StageList, call, time.Time{})
		ev.Text = failureText(f, e)
		c.server.diagnose(ev)
	}
	c.session.forwardResponse(rq, f)
}

// forwards reports whether a notification of the process is for the client: what a
// process says before it has a request to work on is not. What it logs behind its
// answer is: some libraries send notifications on the side. That lists have changed is
// said by us, when they have.
func (c *worker) forwards(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	switch string(e.Method) {
	case "notifications/cancelled":
		return c.session.cancelServerRequest(c, f, e)
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if c.tool == "" {
			c.session.onListChanged(c.info.eraOrLegacy())
		}
		return false
	case "notifications/resources/updated", "notifications/subscriptions/acknowledged":
		return false
	case "notifications/progress":
		return c.ownsToken(e.Token)
	}
	if string(e.Method) == "notifications/message" {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.active
	}
	return c.isWorking()
}

// isWorking reports whether the process works on a request of the client, or may.
func (c *worker) isWorking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests) > 0 || c.active && c.tool == ""
}

// mayRequest reports whether a request of the process is for the client: a question is
// taken for one of the call that the client sees. A spare has none, and who has
// answered has none any more. The roots are asked for ahead by many, and show nobody
// anything.
func (c *worker) mayRequest(method string) bool {
	return method == "roots/list" || method == "ping" || c.isWorking()
}

// refuseRequest answers a request of the process.
func (c *worker) refuseRequest(e *mcpproxy.Envelope, why string) {
	line := append([]byte(`{"jsonrpc":"2.0","id":`), e.ID...)
	c.trySend(mcpproxy.Parse(append(line, `,"error":{"code":-32603,"message":"mcp-jail: `+why+`"}}`...)))
}

// ownsToken reports whether a progress token is that of a request which the process works
// on: of others' it has nothing to say.
func (c *worker) ownsToken(token []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rq := range c.requests {
		if t := rq.frame.Messages[0].Token; t != nil && mcpproxy.IDKey(t) == mcpproxy.IDKey(token) {
			return true
		}
	}
	return false
}
