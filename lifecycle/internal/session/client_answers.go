package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// ClaimRequests marks the requests that match as answered by us and returns them, oldest
// first. A later answer of the server to one of them is dropped.
func (c *Client) ClaimRequests(match func(*mcpproxy.Call) bool) []mcpproxy.Call {
	calls := c.Proxy.Requests.Answer(match)
	slices.SortStableFunc(calls, func(a, b mcpproxy.Call) int { return a.Start.Compare(b.Start) })
	return calls
}

// AnyCall matches every call.
func AnyCall(*mcpproxy.Call) bool { return true }

// AnswerCalls sends the client one error for each call. The errors for the calls of one
// batch form one array (JSON-RPC 2.0, "Batch").
func (c *Client) AnswerCalls(calls []mcpproxy.Call, diagnose func(*mcpproxy.Call) diagnostics.Diagnosis) {
	for len(calls) > 0 {
		first := &calls[0]
		if first.Batch == 0 {
			c.Proxy.Client.Inject(diagnose(first).ErrorFrame(first.ID))
			calls = calls[1:]
			continue
		}
		// All answers of its batch in one array; the other calls stay for the next round.
		batch := []byte{'['}
		rest := calls[:0:0]
		for i := range calls {
			c := &calls[i]
			if c.Batch != first.Batch {
				rest = append(rest, *c)
				continue
			}
			if frame := bytes.TrimSuffix(diagnose(c).ErrorFrame(c.ID), []byte{'\n'}); len(frame) > 0 {
				if len(batch) > 1 {
					batch = append(batch, ',')
				}
				batch = append(batch, frame...)
			}
		}
		if len(batch) > 1 {
			c.Proxy.Client.Inject(append(batch, "]\n"...))
		}
		calls = rest
	}
}

// RefuseAll answers every open request with one diagnosis.
func (c *Client) RefuseAll(d diagnostics.Diagnosis) {
	c.AnswerCalls(c.ClaimRequests(AnyCall), func(*mcpproxy.Call) diagnostics.Diagnosis { return d })
}

// Refusal is the diagnosis of a message that mcp-jail refuses. what follows the name of the server.
func Refusal(code diagnostics.Code, page diagnostics.Page, server, tool, what, fix string) diagnostics.Diagnosis {
	return diagnostics.Diagnosis{
		Code: code, Stage: diagnostics.StageCall, Attribution: diagnostics.Certain, Server: server, Tool: tool,
		Explain: page, What: fmt.Sprintf("server %q: %s", server, what), Fix: fix,
	}
}

// TooManyRequests is the answer to a request for which there is no memory.
func TooManyRequests(server, tool string) diagnostics.Diagnosis {
	return Refusal(-32603, diagnostics.PageMessage, server, tool,
		"too many requests wait for an answer already, and mcp-jail keeps no more of them", "have the client wait for answers before it sends more")
}
