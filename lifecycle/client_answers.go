package lifecycle

import (
	"bytes"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// claimRequests marks the requests that match as answered by us and returns them, oldest
// first. A later answer of the server to one of them is dropped.
func (c *client) claimRequests(match func(*mcpproxy.Call) bool) []mcpproxy.Call {
	calls := c.proxy.Requests.Answer(match)
	slices.SortStableFunc(calls, func(a, b mcpproxy.Call) int { return a.Start.Compare(b.Start) })
	return calls
}

// anyCall matches every call.
func anyCall(*mcpproxy.Call) bool { return true }

// answerCalls sends the client one error for each call. The errors for the calls of one
// batch form one array (JSON-RPC 2.0, "Batch").
func (c *client) answerCalls(calls []mcpproxy.Call, diagnose func(*mcpproxy.Call) diagnostics.Diagnosis) {
	for len(calls) > 0 {
		first := &calls[0]
		if first.Batch == 0 {
			c.proxy.Client.Inject(diagnose(first).ErrorFrame(first.ID))
			calls = calls[1:]
			continue
		}
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
			c.proxy.Client.Inject(append(batch, "]\n"...))
		}
		calls = rest
	}
}

// refuseAll answers every open request with one diagnosis.
func (c *client) refuseAll(d diagnostics.Diagnosis) {
	c.answerCalls(c.claimRequests(anyCall), func(*mcpproxy.Call) diagnostics.Diagnosis { return d })
}
