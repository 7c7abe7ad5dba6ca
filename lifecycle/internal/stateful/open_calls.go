package stateful

import (
	"bytes"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// openCalls are the client's requests that wait for an answer.
type openCalls struct{ proxy *mcpproxy.Proxy }

// claim marks the requests that match as answered by us and returns them, oldest first. A later answer
// of the server to one of them is dropped.
func (o openCalls) claim(match func(*mcpproxy.Call) bool) []mcpproxy.Call {
	calls := o.proxy.Requests.Answer(match)
	slices.SortStableFunc(calls, func(a, b mcpproxy.Call) int { return a.Start.Compare(b.Start) })
	return calls
}

func anyCall(*mcpproxy.Call) bool { return true }

// answer sends the client one error for each call. The errors for the calls of one batch form one array
// (JSON-RPC 2.0, "Batch").
func (o openCalls) answer(calls []mcpproxy.Call, diagnose func(*mcpproxy.Call) diagnostics.Diagnosis) {
	for len(calls) > 0 {
		first := &calls[0]
		if first.Batch == 0 {
			o.proxy.Client.Inject(diagnose(first).ErrorFrame(first.ID))
			calls = calls[1:]
			continue
		}
		var same []mcpproxy.Call
		var rest []mcpproxy.Call
		for _, c := range calls {
			if c.Batch == first.Batch {
				same = append(same, c)
			} else {
				rest = append(rest, c)
			}
		}
		o.answerBatch(same, diagnose)
		calls = rest
	}
}

func (o openCalls) answerBatch(calls []mcpproxy.Call, diagnose func(*mcpproxy.Call) diagnostics.Diagnosis) {
	var errors [][]byte
	for i := range calls {
		if frame := bytes.TrimSpace(diagnose(&calls[i]).ErrorFrame(calls[i].ID)); len(frame) > 0 {
			errors = append(errors, frame)
		}
	}
	if errors != nil {
		o.proxy.Client.Inject(slices.Concat([]byte{'['}, bytes.Join(errors, []byte{','}), []byte("]\n")))
	}
}

// refuse answers all of them with one diagnosis.
func (o openCalls) refuse(d diagnostics.Diagnosis) {
	o.answer(o.claim(anyCall), func(*mcpproxy.Call) diagnostics.Diagnosis { return d })
}

func (o openCalls) count() (n int) {
	o.proxy.Requests.Each(func(*mcpproxy.Call) { n++ })
	return n
}

// oldest returns a copy of the request that has waited for longest, or nil.
func (o openCalls) oldest() (oldest *mcpproxy.Call) {
	o.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if oldest == nil || c.Start.Before(oldest.Start) {
			oldest = &mcpproxy.Call{Method: slices.Clone(c.Method), Tool: slices.Clone(c.Tool), Start: c.Start}
		}
	})
	return oldest
}

// id returns the id of a request that matches, or nil.
func (o openCalls) id(match func(*mcpproxy.Call) bool) (id []byte) {
	o.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if id == nil && match(c) {
			id = bytes.Clone(c.ID)
		}
	})
	return id
}

// has reports whether one with this mcpproxy.IDKey waits.
func (o openCalls) has(key string) bool {
	return o.id(func(c *mcpproxy.Call) bool { return mcpproxy.IDKey(c.ID) == key }) != nil
}

// others reports whether a tool is called beside the request with this id.
func (o openCalls) others(id []byte) bool {
	own := mcpproxy.IDKey(id)
	return o.id(func(c *mcpproxy.Call) bool { return string(c.Method) == "tools/call" && mcpproxy.IDKey(c.ID) != own }) != nil
}
