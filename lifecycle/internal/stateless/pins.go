package stateless

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
)

func (dv *discovery) respondHandshake(rq *clientRequest, name string, value []byte, modern bool) {
	if name == "result" {
		if d := dv.client.Tools.Handshake(rq.listRequest(), value); d != nil {
			dv.session.dispatcher.fail(rq, *d)
			return
		}
	}
	dv.session.dispatcher.respondWith(rq, name, stripCapabilities(value, modern))
}

func (dv *discovery) checkList(rq *clientRequest, result []byte) *diagnostics.Diagnosis {
	if rq.method != "tools/list" {
		return nil
	}
	return dv.client.Tools.List(rq.listRequest(), result)
}

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
