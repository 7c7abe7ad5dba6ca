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

// clientInfo is what the client has said of itself: the handshake that each process gets.
type clientInfo struct {
	era  mcpproxy.Era
	key  []byte // of what a server's answers may depend on
	line []byte // legacy: the client's initialize; modern: a server/discover of ours in its name
}

// matches reports whether a process that was greeted with one can serve who says the
// other.
func (h *clientInfo) matches(other *clientInfo) bool {
	return h == other || h != nil && other != nil && h.era == other.era && bytes.Equal(h.key, other.key)
}

func (h *clientInfo) eraOrLegacy() mcpproxy.Era {
	if h == nil {
		return mcpproxy.Legacy
	}
	return h.era
}

func (h *clientInfo) eraName() string {
	if h.era == mcpproxy.Modern {
		return "modern"
	}
	return "legacy"
}

// requestFor is a request of ours in the client's name: that which catalog.Request
// calls so.
func (h *clientInfo) requestFor(name string) *mcpproxy.Frame {
	method, params, _ := bytes.Cut([]byte(name), []byte(" "))
	if params == nil {
		params = []byte("{}")
	}
	if h.eraOrLegacy() == mcpproxy.Modern {
		meta := jsonObject("_meta", h.key)
		if len(params) > len("{}") {
			meta = append(append(meta[:len(meta)-1], ','), params[1:]...)
		}
		params = meta
	}
	return mcpproxy.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":%s,"params":%s}`+"\n", jsonString(string(method)), params))
}

// recordInitialize remembers the client's initialize, to be replayed to each process.
// One that is not held in memory cannot be: nil.
func (p *statelessSession) recordInitialize(f *mcpproxy.Frame, e *mcpproxy.Envelope) *clientInfo {
	line, whole := f.AppendTo(nil)
	if !whole {
		return nil
	}
	h := &clientInfo{era: mcpproxy.Legacy, line: line, key: filterMembers(f.Slice(e.Params), func(name string) bool { return name != "_meta" })}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.legacyInfo.matches(h) {
		h = p.legacyInfo
	}
	p.legacyInfo, p.latestInfo = h, h
	return h
}

// recordModern remembers what a modern request says of the client (2026-07-28,
// "Request metadata").
func (p *statelessSession) recordModern(f *mcpproxy.Frame, e *mcpproxy.Envelope) *clientInfo {
	const prefix = "io.modelcontextprotocol/"
	key := filterMembers(f.Slice(e.ParamsMeta), func(name string) bool {
		return name == mcpproxy.VersionKey || name == prefix+"clientCapabilities" || name == prefix+"clientInfo"
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.modernInfo != nil && bytes.Equal(p.modernInfo.key, key) {
		p.latestInfo = p.modernInfo
		return p.modernInfo
	}
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":%s}}`+"\n", key)
	p.modernInfo = &clientInfo{era: mcpproxy.Modern, key: key, line: line}
	p.latestInfo = p.modernInfo
	return p.modernInfo
}

// latestClientInfo is how the client has introduced itself last.
func (p *statelessSession) latestClientInfo() *clientInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.latestInfo
}

// infoFor is what a process for requests of that era has to go through; nil when
// the client has not introduced itself, which is then the server's to refuse.
func (p *statelessSession) infoFor(era mcpproxy.Era) *clientInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	if era == mcpproxy.Modern {
		return p.modernInfo
	}
	return p.legacyInfo
}

// currentClient is how the client has said who it is, for a request that does not say it:
// by its handshake, else with its requests of 2026-07-28.
func (p *statelessSession) currentClient() (mcpproxy.Era, *clientInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.legacyInfo == nil && p.modernInfo != nil {
		return mcpproxy.Modern, p.modernInfo
	}
	return mcpproxy.Legacy, p.legacyInfo
}

// handshake takes a process through the client's handshake and returns the answer to it.
// A modern one needs none.
func (c *worker) handshake(ctx context.Context) (answer *mcpproxy.Frame, d *diagnostics.Diagnosis) {
	h := c.info
	if h == nil || h.era == mcpproxy.Modern {
		c.markReady()
		return nil, nil
	}
	f := mcpproxy.Parse(h.line)
	c.server.advertise(f, &f.Messages[0])
	slow := time.AfterFunc(c.client.times.slowNote, func() {
		if c.server.quiet.Load() {
			return
		}
		c.client.stderr.Say(fmt.Sprintf("mcp-jail: waiting for the first answer of server %q%s; %v so far\n", c.session.serverName, c.forTool(), c.client.times.slowNote))
	})
	defer slow.Stop()
	answer, err := c.request(ctx, f, c.server.profile.Startup)
	if err != nil {
		return nil, c.startupFailure(ctx, err)
	}
	if e := &answer.Messages[0]; e.Error.Present() {
		ev := c.server.evidence(diagnostics.StageBoot, &mcpproxy.Call{Method: []byte("initialize"), Tool: []byte(c.tool)}, time.Time{})
		ev.Text = failureText(answer, e)
		failed := c.server.diagnose(ev)
		return answer, &failed
	}
	c.trySend(mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")))
	c.markReady()
	return answer, nil
}

// markReady notes that a process works. From then on it hears what the client says to
// everybody, and first what it has said already.
func (c *worker) markReady() {
	p, room := c.session, true
	p.mu.Lock()
	p.anyReady, c.ready = true, true
	if p.logLevel != nil && c.info != nil && c.info.era == mcpproxy.Legacy {
		room = c.queue.tryEnqueue(p.logLevelRequest(c))
	}
	p.mu.Unlock()
	if !room {
		c.onQueueFull()
	}
}

func (c *worker) forTool() string {
	if c.tool == "" {
		return ""
	}
	return fmt.Sprintf(" for tool %q", c.tool)
}

// startupFailure is the diagnosis of a process that gave no first answer.
func (c *worker) startupFailure(ctx context.Context, err error) *diagnostics.Diagnosis {
	var answer reply
	if errors.As(err, &answer) {
		c.server.announce(*answer.rejected)
		return answer.rejected
	}
	ev := c.server.evidence(diagnostics.StageBoot, nil, time.Time{})
	ev.Tool = c.tool
	switch {
	case ctx.Err() != nil:
		d := diagnostics.Diagnose(ev)
		return &d
	case err == errTimeout:
		ev.Timeout = c.server.profile.Startup
	default:
		ev.Exit = (*diagnostics.Exit)(&c.exit)
	}
	d := c.server.diagnose(ev)
	return &d
}

// filterMembers is an object with those members of another that are to be kept, each with
// its own bytes.
func filterMembers(object []byte, keep func(name string) bool) []byte {
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
		kept = append(append(append(kept, jsonString(name)...), ':'), value...)
	})
	return append(kept, '}')
}
