package session

import (
	"encoding/json"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// The legacy form of a question is a request of ours, elicitation/create (2025-11-25, "Elicitation"). The call waits in
// this process.

const methodElicit = "elicitation/create"

// The answers of the form. The schema names them as a person reads them: clients of 2025-06-18 know no titles.
const (
	answerNo  = "no"
	answerYes = "for this session"
)

// elicitation returns the request of a question.
func elicitation(server string, open *question) []byte {
	return mcpproxy.NewRequest([]byte(open.id), methodElicit, form(server, open))
}

// form returns the params of an elicitation/create: one choice, which is required and has no default.
func form(server string, open *question) []byte {
	type property struct {
		Type  string   `json:"type"`
		Title string   `json:"title"`
		Enum  []string `json:"enum"`
	}
	type schema struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	params, err := json.Marshal(struct {
		Message string `json:"message"`
		Schema  schema `json:"requestedSchema"`
	}{
		open.text(server),
		schema{"object", map[string]property{"answer": {"string", "Allow it?", []string{answerNo, answerYes}}}, []string{"answer"}},
	})
	if err != nil {
		panic(err) // of texts alone
	}
	return params
}

// Answered takes an answer of the client to a question of ours, and reports whether it was one. A late answer, and a
// second one, change nothing.
func (q *Questions) Answered(f *mcpproxy.Frame, e *mcpproxy.Envelope) bool {
	if q == nil {
		return false
	}
	id := mcpproxy.IDKey(e.ID)
	q.mu.Lock()
	ours, open := q.ours[id], q.take(id)
	if open != nil && !e.Result.Present() {
		q.dumb = true // it declares what it does not have
	}
	q.mu.Unlock()
	if open == nil {
		return ours
	}
	said := no
	if e.Result.Present() && f.Flaws.IsStrict() {
		said = saidIn(f.Slice(e.Result))
	}
	q.settle(open, said, open.frame)
	return true
}

// saidIn reads the result of an elicitation. Only the listed answer is a yes: what a client sends by itself is empty.
func saidIn(result []byte) answer {
	var said struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	var content struct {
		Answer string `json:"answer"`
	}
	switch {
	case json.Unmarshal(result, &said) != nil:
		return no
	case said.Action == "cancel":
		return none
	case said.Action == "accept" && json.Unmarshal(said.Content, &content) == nil && content.Answer == answerYes:
		return yes
	}
	return no
}
