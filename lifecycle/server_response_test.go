//go:build unix

package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestErrorToCall: a JSON-RPC error to a tool call is diagnosed where the client reads
// it; one of which nothing is known passes as it is, and so does one to another request.
func TestErrorToCall(t *testing.T) {
	p := begin(t, &fake{server: "erring"}, func(s *Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
		s.Exists = func(string) bool { return true }
	})
	p.send(`{"id":1,"method":"tools/call","params":{"name":"EACCES: permission denied, open '/data/x'"}}`)
	line := p.line()
	var answer struct {
		Error struct {
			Message string
			Data    map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Stage, Attribution, Tool, Hint string
		Grant                          []string
	}
	json.Unmarshal(answer.Error.Data["dev.mcp-jail/diagnosis"], &told)
	if told.Stage != "call" || told.Attribution != "likely" || !strings.Contains(told.Hint, "/data/x") || !strings.Contains(strings.Join(told.Grant, "\n"), `path = "/data/x"`) {
		t.Errorf("told %+v in %s", told, line)
	}
	if string(answer.Error.Data["dev.mcp-jail/data"]) != `"EACCES: permission denied, open '/data/x'"` || answer.Error.Message != "failed" {
		t.Errorf("the server's own words are lost: %s", line)
	}
	for _, request := range []string{
		`{"id":1,"method":"tools/call","params":{"name":"no such row"}}`,
		`{"id":1,"method":"resources/read","params":{"name":"EACCES: permission denied, open '/data/x'"}}`,
	} {
		p.send(request)
		if got := p.line(); strings.Contains(got, "mcp-jail") || !strings.HasPrefix(got, `{"jsonrpc":"2.0",  "id":1,`) {
			t.Errorf("%s was answered with %s", request, got)
		}
	}
	p.in.Close()
	p.rest()
	p.ended()
}
