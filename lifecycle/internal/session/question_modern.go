package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// The form of 2026-07-28, which has no requests to the client: the call is answered with "input_required", and the
// client sends it again, with the answer and our requestState ("Multi round-trip requests").

// inputKey names our question among the inputs of a call.
const inputKey = "mcp-jail"

// inputRequired returns the answer to a call that has our question in it.
func inputRequired(id, server string, open *question) []byte {
	result := fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":{%q:{"method":%q,"params":%s}},"requestState":%s}`,
		inputKey, methodElicit, form(server, open), open.id)
	return mcpproxy.NewResponse([]byte(id), "result", result)
}

// retried takes a call that the client sends again with an answer to our question. It reports whether the call has a
// state of ours. A state counts once, and for its own call.
func (q *Questions) retried(f *mcpproxy.Frame, e *mcpproxy.Envelope, call HeldCall) bool {
	var params struct {
		State json.RawMessage `json:"requestState"`
	}
	q.mu.Lock()
	asked := len(q.ours) > 0
	q.mu.Unlock()
	if !asked && !e.Inputs.Present() || json.Unmarshal(f.Slice(e.Params), &params) != nil {
		return false
	}
	id := mcpproxy.IDKey(params.State)
	q.mu.Lock()
	ours, open := q.ours[id], q.take(id)
	q.mu.Unlock()
	if !ours {
		if e.Inputs.Present() {
			q.Others(methodElicit, true)
		}
		return false
	}
	if open != nil && (open.digest != digestOf(f, e) || !f.Flaws.IsStrict()) {
		q.again(open)
		open = nil
	}
	if open == nil {
		d := Refusal(-32602, "", q.client.Config.Profile.Server, call.Tool, "the tool was not run: its requestState is late, was used before, or is that of another call", "call it again without")
		q.client.Announce(d)
		call.Answer(d.ErrorFrame([]byte(call.ID)))
		return true
	}
	open.call = call
	said := saidIn(only(only(f.Slice(e.Params), "inputResponses"), inputKey))
	if said == none {
		open.frame = f.Clone() // it waits for an answer that says so
	}
	q.settle(open, said, withoutInputs(f))
	return true
}

// withoutInputs returns a call without what answers our question.
func withoutInputs(f *mcpproxy.Frame) *mcpproxy.Frame {
	line, _ := f.AppendTo(nil) // it is in memory
	parsed := mcpproxy.Parse(line)
	self := parsed.Messages[0].Self
	message := ReplaceMember(parsed.Slice(self), "params", func(params []byte) []byte {
		return FilterMembers(params, func(name string) bool { return name != "inputResponses" && name != "requestState" })
	})
	return mcpproxy.Parse(append(bytes.TrimSpace(message), '\n'))
}

// digestOf returns a digest of what a call says to the server: its tool and its arguments.
func digestOf(f *mcpproxy.Frame, e *mcpproxy.Envelope) [32]byte {
	return sha256.Sum256(FilterMembers(f.Slice(e.Params), func(name string) bool {
		return name != "inputResponses" && name != "requestState" && name != "_meta"
	}))
}

//go:embed forms.txt
var formClients string

// DrawsForms reports whether a client of this name is known to show a form to a person.
func DrawsForms(name string) bool {
	for line := range strings.Lines(formClients) {
		if begin := strings.TrimSpace(line); begin != "" && begin[0] != '#' && strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

// shows reports whether the client shows forms: it says so, and is known for it. The caller holds mu.
func (q *Questions) shows() bool {
	type capabilities struct {
		Elicitation *struct{ Form, URL json.RawMessage }
	}
	var said struct {
		Legacy capabilities `json:"capabilities"`
		Modern capabilities `json:"io.modelcontextprotocol/clientCapabilities"`
	}
	text := q.client.Introduction.params.Load()
	if q.dumb || text == nil || json.Unmarshal(*text, &said) != nil {
		return false
	}
	can := cmp.Or(said.Legacy.Elicitation, said.Modern.Elicitation)
	name, _ := q.client.Introduction.name()
	return can != nil && (can.Form != nil || can.URL == nil) && DrawsForms(name) // {} is a form
}
