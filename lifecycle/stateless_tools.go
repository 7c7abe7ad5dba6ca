package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// page is what of an answer to tools/list is looked at.
type page struct {
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	NextCursor string `json:"nextCursor"`
}

// listed notes which tools there are, when the list is complete: spares are started
// for them, and tables for others are told.
func (p *perCall) listed(rq *request, result []byte) {
	if rq.method != "tools/list" {
		return
	}
	var from struct {
		Cursor string `json:"cursor"`
	}
	json.Unmarshal(rq.frame.Slice(rq.frame.Messages[0].Params), &from)
	p.listedPage(result, from.Cursor == "")
}

// listedPage takes one part of the list of tools, and returns the cursor of the next;
// "" behind the last.
func (p *perCall) listedPage(result []byte, first bool) (next string) {
	var part page
	if json.Unmarshal(result, &part) != nil {
		return ""
	}
	l := &p.lists
	l.mu.Lock()
	if first {
		l.paged = []string{}
	}
	for _, t := range part.Tools {
		if len(l.tools) == maxTools && !l.tools[t.Name] {
			continue
		}
		l.tools[t.Name] = true
		if l.paged != nil {
			l.paged = append(l.paged, t.Name)
		}
	}
	tools := l.paged
	if part.NextCursor != "" || tools == nil {
		l.mu.Unlock()
		return part.NextCursor
	}
	l.paged = nil
	l.mu.Unlock()
	for _, name := range p.options.Declared {
		if !slices.Contains(tools, name) {
			p.client.warn("warning: [servers." + p.name + ".tools." + name + "] is for a tool that the server does not offer")
		}
	}
	p.offer(tools)
	return ""
}

// maxTools bounds the tools that are known by name: a server may list others each
// time. What is beyond is not listed.
const maxTools = 10000

// maxPages bounds a list of tools: a server may page for ever.
const maxPages = 100

// unlisted refuses the call of a tool that neither the server lists nor the
// configuration names. Some servers take "READ " for "read", and the jail has to be
// that of the tool which the server will run. Before that the list is asked for anew.
func (p *perCall) unlisted(ctx context.Context, rq *request) *diagnostics.Diagnosis {
	known := func() bool {
		p.lists.mu.Lock()
		defer p.lists.mu.Unlock()
		return p.lists.tools[rq.tool]
	}
	h, cursor := rq.hello, ""
	if known() || slices.Contains(p.options.Declared, rq.tool) {
		return nil
	}
	c, _, d := p.discoverer(ctx, rq.era, h)
	if d != nil {
		return d
	}
	for n := range maxPages {
		name := "tools/list"
		if n > 0 {
			name += ` {"cursor":` + string(quoted(cursor)) + "}"
		}
		answer, err := c.ask(ctx, h.request(name), c.server.Profile.Startup)
		if err != nil {
			return c.bootFailure(ctx, err)
		}
		e := &answer.Messages[0]
		if e.Error.Present() {
			ev := c.server.evidence(diagnostics.StageList, &mcpproxy.Call{Method: []byte("tools/list")}, c.began)
			ev.Text = textOf(answer, e)
			d := c.server.report(ev)
			return &d
		}
		if cursor = p.listedPage(answer.Slice(e.Result), n == 0); cursor == "" {
			break
		}
	}
	if known() {
		return nil
	}
	// Not even a process that would only say so: one that reads names loosely would run
	// a tool that has a policy of its own under this one.
	unknown := p.client.note(diagnostics.Diagnosis{
		Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: p.name, Tool: rq.tool,
		What: fmt.Sprintf("server %q lists no tool %q, so there is no policy to call it under", p.name, rq.tool),
		Fix:  "if it has one all the same, give it a table among the tools of the server",
	})
	return &unknown
}
