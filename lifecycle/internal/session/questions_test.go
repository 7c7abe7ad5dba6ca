package session

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestQuestionsStandAside: a call meets the questions once one is due, was asked, or may be answered by the call, and
// not before.
func TestQuestionsStandAside(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n"
	const retried = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","inputResponses":{}}}` + "\n"
	for _, tt := range []struct {
		name string
		q    *Questions
		line string
		want bool
	}{
		{"a session that asks nothing", nil, call, false},
		{"nothing is due", &Questions{}, call, false},
		{"something is due for another tool", &Questions{due: map[string][]object{"y": {{}}}}, call, true},
		{"a question was asked", &Questions{ours: map[string]bool{"a": true}}, call, true},
		{"it answers a question, of the server's perhaps", &Questions{}, retried, true},
	} {
		f := mcpproxy.Parse([]byte(tt.line))
		if got := tt.q.Before(&f.Messages[0]) != nil; got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
