package stateless

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/capability"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (dv *discovery) onToolsList(rq *clientRequest, result []byte) {
	if rq.method != "tools/list" {
		return
	}
	var from struct {
		Cursor string `json:"cursor"`
	}
	json.Unmarshal(rq.frame.Slice(rq.frame.Messages[0].Params), &from)
	dv.addToolsPage(result, from.Cursor == "")
}

func listForClient(rq *clientRequest, result []byte) []byte {
	if rq.method != "tools/list" {
		return result
	}
	return capability.StripTools(result)
}

// addToolsPage adds a page of the list of tools and returns the cursor of the next, or "".
// After the last page it registers the tools in the pool, and warns of tables for tools
// that the server does not have.
func (dv *discovery) addToolsPage(result []byte, first bool) (next string) {
	next, all := dv.tools.AddPage(result, first)
	if all == nil {
		return next
	}
	for _, name := range dv.session.declared() {
		if !slices.Contains(all, name) {
			dv.client.Warn("warning: [servers." + dv.session.serverName + ".tools." + name + "] is for a tool that the server does not offer")
		}
	}
	dv.session.pool.registerTools(all)
	return ""
}

// maxPages bounds the pages of a list of tools, since a server may page without end.
const maxPages = 100

// refuseUnlisted returns a diagnosis for a call of a tool that neither the server lists
// nor the configuration names, after it has asked for the list again. Some servers take
// "READ " for "read", and the jail must be the one of the tool that the server will run.
func (dv *discovery) refuseUnlisted(ctx context.Context, rq *clientRequest) *diagnostics.Diagnosis {
	info, cursor := rq.info, ""
	if dv.tools.Has(rq.tool) || slices.Contains(dv.session.declared(), rq.tool) {
		return nil
	}
	w, d := dv.worker(ctx, info)
	if d != nil {
		return d
	}
	defer dv.session.pool.release(w)
	// The list that the client has may be old, or the client has asked for none.
	for n := range maxPages {
		name := "tools/list"
		if n > 0 {
			name += ` {"cursor":` + string(session.JSONString(cursor)) + "}"
		}
		answer, err := w.request(ctx, info.RequestFor(name), w.server.Profile.Startup)
		if err != nil {
			return w.startupFailure(ctx, err)
		}
		e := &answer.Messages[0]
		if e.Error.Present() {
			ev := w.server.Evidence(diagnostics.StageList, &mcpproxy.Call{Method: []byte("tools/list")}, time.Time{})
			ev.Text = session.FailureText(answer, e)
			d := w.server.Diagnose(ev)
			return &d
		}
		if cursor = dv.addToolsPage(answer.Slice(e.Result), n == 0); cursor == "" {
			break
		}
	}
	if dv.tools.Has(rq.tool) {
		return nil
	}
	// No worker is asked either: a server that reads names loosely would run another
	// tool, which has its own policy, under the default policy.
	unknown := dv.client.Announce(diagnostics.Diagnosis{
		Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: dv.session.serverName, Tool: rq.tool,
		Explain: diagnostics.PagePerCall,
		What:    fmt.Sprintf("server %q lists no tool %q, so there is no policy to call it under", dv.session.serverName, rq.tool),
		Fix:     "if it has one all the same, give it a table among the tools of the server",
	})
	return &unknown
}

func (dv *discovery) respondHandshake(rq *clientRequest, name string, value []byte, modern bool) {
	if name == "result" {
		if d := dv.client.Tools.Handshake(rq.listRequest(), value); d != nil {
			dv.session.dispatcher.fail(rq, *d)
			return
		}
	}
	dv.session.dispatcher.respondWith(rq, name, capability.StripServer(value, modern))
}

func (dv *discovery) checkList(rq *clientRequest, result []byte) *diagnostics.Diagnosis {
	if rq.method != "tools/list" {
		return nil
	}
	return dv.client.Tools.List(rq.listRequest(), result)
}
