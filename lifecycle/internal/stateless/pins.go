package stateless

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
)

// respondHandshake answers initialize or server/discover with an answer of the server, from now or
// an earlier session, unless the client must not see it.
func (dv *discovery) respondHandshake(rq *clientRequest, name string, value []byte, modern bool) {
	if name == "result" {
		if d := dv.client.Tools.Handshake(rq.asked(), value); d != nil {
			dv.session.dispatcher.fail(rq, *d)
			return
		}
	}
	dv.session.dispatcher.respondWith(rq, name, stripCapabilities(value, modern))
}

// checkList compares an answer to tools/list with the pins. A diagnosis is the answer in
// its place. Answers to other requests are not looked at.
func (dv *discovery) checkList(rq *clientRequest, result []byte) *diagnostics.Diagnosis {
	if rq.method != "tools/list" {
		return nil
	}
	return dv.client.Tools.List(rq.asked(), result)
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
