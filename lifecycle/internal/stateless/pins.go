package stateless

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// respondHandshake answers initialize or server/discover with an answer of the server, from now or
// an earlier session, unless the client must not see it.
func (s *statelessSession) respondHandshake(rq *clientRequest, name string, value []byte, modern bool) {
	if name == "result" {
		if d := s.client.Tools.Handshake(rq.asked(), value); d != nil {
			s.fail(rq, *d)
			return
		}
	}
	s.respondWith(rq, name, stripCapabilities(value, modern))
}

// checkList compares an answer to tools/list with the pins. A diagnosis is the answer in
// its place. Answers to other requests are not looked at.
func (s *statelessSession) checkList(rq *clientRequest, result []byte) *diagnostics.Diagnosis {
	if rq.method != "tools/list" {
		return nil
	}
	return s.client.Tools.List(rq.asked(), result)
}

// asked returns the part of the request on which the comparison of its answer depends.
func (r *clientRequest) asked() session.ListRequest {
	e := &r.frame.Messages[0]
	asked := session.ListRequest{Method: r.method}
	if r.era == mcpproxy.Modern {
		asked = session.ModernRequest(r.method, r.frame.Slice(e.ParamsMeta))
	}
	if asked.Capabilities == nil {
		asked.Capabilities = r.info.capabilities()
	}
	if e.Params.Present() && r.method == "tools/list" {
		asked.Cursor = session.CursorOf(r.frame.Slice(e.Params))
	}
	return asked
}

// capabilities returns the capabilities of the client, which are JSON, or nil.
func (i *clientInfo) capabilities() (found []byte) {
	if i == nil {
		return nil
	}
	session.EachMember(i.key, func(name string, _ int64, value []byte) {
		if name == "capabilities" || name == "io.modelcontextprotocol/clientCapabilities" {
			found = value
		}
	})
	return found
}
