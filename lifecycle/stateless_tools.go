package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// toolsPage is what of an answer to tools/list is looked at.
type toolsPage struct {
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
	NextCursor string `json:"nextCursor"`
}

// onToolsList notes which tools there are, when the list is complete: spares are started
// for them, and tables for others are told.
func (s *statelessSession) onToolsList(rq *clientRequest, result []byte) {
	if rq.method != "tools/list" {
		return
	}
	var from struct {
		Cursor string `json:"cursor"`
	}
	json.Unmarshal(rq.frame.Slice(rq.frame.Messages[0].Params), &from)
	s.addToolsPage(result, from.Cursor == "")
}

// addToolsPage takes one part of the list of tools, and returns the cursor of the next;
// "" behind the last.
func (s *statelessSession) addToolsPage(result []byte, first bool) (next string) {
	var part toolsPage
	if json.Unmarshal(result, &part) != nil {
		return ""
	}
	l := &s.cache
	l.mu.Lock()
	if first {
		l.partialTools = []string{}
	}
	for _, t := range part.Tools {
		if len(l.tools) == maxTools && !l.tools[t.Name] {
			continue
		}
		l.tools[t.Name] = true
		if l.partialTools != nil {
			l.partialTools = append(l.partialTools, t.Name)
		}
	}
	tools := l.partialTools
	if part.NextCursor != "" || tools == nil {
		l.mu.Unlock()
		return part.NextCursor
	}
	l.partialTools = nil
	l.mu.Unlock()
	for _, name := range s.options.Declared {
		if !slices.Contains(tools, name) {
			s.client.warn("warning: [servers." + s.serverName + ".tools." + name + "] is for a tool that the server does not offer")
		}
	}
	s.registerTools(tools)
	return ""
}

// maxTools bounds the tools that are known by name: a server may list others each
// time. What is beyond is not listed.
const maxTools = 10000

// maxPages bounds a list of tools: a server may page for ever.
const maxPages = 100

// refuseUnlisted refuses the call of a tool that neither the server lists nor the
// configuration names. Some servers take "READ " for "read", and the jail has to be
// that of the tool which the server will run. Before that the list is asked for anew.
func (s *statelessSession) refuseUnlisted(ctx context.Context, rq *clientRequest) *diagnostics.Diagnosis {
	known := func() bool {
		s.cache.mu.Lock()
		defer s.cache.mu.Unlock()
		return s.cache.tools[rq.tool]
	}
	info, cursor := rq.info, ""
	if known() || slices.Contains(s.options.Declared, rq.tool) {
		return nil
	}
	w, _, d := s.discoveryWorker(ctx, rq.era, info)
	if d != nil {
		return d
	}
	for n := range maxPages {
		name := "tools/list"
		if n > 0 {
			name += ` {"cursor":` + string(jsonString(cursor)) + "}"
		}
		answer, err := w.request(ctx, info.requestFor(name), w.server.profile.Startup)
		if err != nil {
			return w.startupFailure(ctx, err)
		}
		e := &answer.Messages[0]
		if e.Error.Present() {
			ev := w.server.evidence(diagnostics.StageList, &mcpproxy.Call{Method: []byte("tools/list")}, w.startedAt)
			ev.Text = failureText(answer, e)
			d := w.server.diagnose(ev)
			return &d
		}
		if cursor = s.addToolsPage(answer.Slice(e.Result), n == 0); cursor == "" {
			break
		}
	}
	if known() {
		return nil
	}
	// Not even a process that would only say so: one that reads names loosely would run
	// a tool that has a policy of its own under this one.
	unknown := s.client.announce(diagnostics.Diagnosis{
		Code: -32602, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: s.serverName, Tool: rq.tool,
		What: fmt.Sprintf("server %q lists no tool %q, so there is no policy to call it under", s.serverName, rq.tool),
		Fix:  "if it has one all the same, give it a table among the tools of the server",
	})
	return &unknown
}
