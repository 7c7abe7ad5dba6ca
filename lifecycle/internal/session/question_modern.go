package session

import (
	"bytes"
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
	q.mu.Lock()
	asked := len(q.ours) > 0
	q.mu.Unlock()
	if !asked && !e.Inputs.Present() {
		return false
	}
	var params struct {
		State  json.RawMessage            `json:"requestState"`
		Inputs map[string]json.RawMessage `json:"inputResponses"`
	}
	if json.Unmarshal(f.Slice(e.Params), &params) != nil {
		return false
	}
	id := ""
	if params.State != nil {
		id = mcpproxy.IDKey(params.State)
	}
	q.mu.Lock()
	ours, open := q.ours[id], q.take(id)
	q.mu.Unlock()
	if open != nil && (open.call.Tool != call.Tool || open.digest != digestOf(f, e) || !f.Flaws.IsStrict()) {
		q.notRun(open, "")
		open = nil
	}
	switch {
	case !ours && e.Inputs.Present():
		q.OthersAnswered(methodElicit)
		return false
	case !ours:
		return false
	case open == nil:
		d := Refusal(-32602, "", q.client.Config.Profile.Server, call.Tool, "the tool was not run: its requestState is late, was used before, or is that of another call", "call it again without")
		q.client.Announce(d)
		call.Answer(d.ErrorFrame([]byte(call.ID)))
		return true
	}
	open.call = call
	said := saidIn(params.Inputs[inputKey])
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

func (q *Questions) shows() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.showsNow()
}

// showsNow reports whether the client shows forms: it says so, and is known for it. The caller holds mu.
func (q *Questions) showsNow() bool {
	type capabilities struct {
		Elicitation *struct {
			Form, URL json.RawMessage
		}
	}
	type info struct{ Name string }
	var said struct {
		Capabilities capabilities `json:"capabilities"`
		Info         info         `json:"clientInfo"`
	}
	var modern struct {
		Capabilities capabilities `json:"io.modelcontextprotocol/clientCapabilities"`
		Info         info         `json:"io.modelcontextprotocol/clientInfo"`
	}
	switch {
	case q.dumb:
		return false
	case q.meta != nil:
		if json.Unmarshal(q.meta, &modern) != nil {
			return false
		}
		said.Capabilities, said.Info = modern.Capabilities, modern.Info
	case q.greeting == nil || json.Unmarshal(q.greeting, &said) != nil:
		return false
	}
	e := said.Capabilities.Elicitation
	return e != nil && (e.Form != nil || e.URL == nil) && DrawsForms(said.Info.Name) // {} is a form
}

// asksClient reports whether a frame of the server has a question for the client's user in it.
func asksClient(f *mcpproxy.Frame) bool {
	for i := range f.Messages {
		e := &f.Messages[i]
		if string(e.Method) == methodElicit {
			return true
		}
		if e.Kind() != mcpproxy.Response || !e.Result.Present() || !mayAsk(f, e) {
			continue
		}
		var result struct {
			Type string `json:"resultType"`
		}
		if json.Unmarshal(f.Slice(e.Result), &result) == nil && result.Type == "input_required" {
			return true
		}
	}
	return false
}

// mayAsk spares most results the decoding: the word stands in one that asks, or an escape does.
func mayAsk(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	text := f.Slice(e.Result)
	return bytes.Contains(text, []byte("input_required")) || bytes.Contains(text[:min(len(text), 256)], []byte(`\u`))
}
