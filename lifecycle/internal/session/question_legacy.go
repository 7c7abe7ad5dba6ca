package session

import (
	"encoding/json"
	"strings"

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
	var action, said string
	_ = json.Unmarshal(only(result, "action"), &action)
	_ = json.Unmarshal(only(only(result, "content"), "answer"), &said)
	switch {
	case action == "cancel":
		return none
	case action == "accept" && said == answerYes:
		return yes
	}
	return no
}

// only returns the value of a member that an object has once, in this case and in no other, or nil.
func only(object []byte, member string) (value []byte) {
	found := 0
	EachMember(object, func(name string, _ int64, v []byte) {
		if strings.EqualFold(name, member) {
			found++
		}
		if name == member {
			value = v
		}
	})
	if found != 1 {
		return nil
	}
	return value
}
