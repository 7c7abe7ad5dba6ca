//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// knowing is a modern request of a client that knows the extension for tasks.
func knowing(id, method, params string) string {
	return strings.Replace(sessiontest.Modern(id, method, params), `clientCapabilities":{}`,
		`clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol\/tasks":{}, "c/d":{}}}`, 1)
}

// TestModernTasks: neither side learns that the other has the extension for tasks, so the server
// answers with a result. A task that it answers with all the same is an error that says what to do.
func TestModernTasks(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fleet{Servers: map[string]string{"": "clerk"}}
	p := beginStateless(t, f, nil)
	p.Send(knowing("1", "server/discover", ""))
	if line := p.Answer("1").Line; !strings.Contains(line, `"extensions":{"a/b":{}}`) {
		t.Error(line)
	}
	p.Send(knowing("2", "tools/list", ""))
	if line := p.Answer("2").Line; strings.Count(line, "taskSupport") != 1 {
		t.Error(line)
	}
	p.Send(knowing("3", "tools/call", `"name":"report","arguments":{"task":1},"task":2`))
	sessiontest.Has(t, p.Answer("3").Line, `\"elicitation\":{},\"extensions\":{ \"c/d\":{}}`, `\"arguments\":{\"task\":1},\"task\":2`)
	p.Send(knowing("4", "tools/call", `"name":"slow"`)) // its word about tasks is for the legacy era
	sessiontest.Has(t, p.Answer("4").Line, `"content":`)
	p.Send(knowing("5", "tools/call", `"name":"always"`))
	line := p.Answer("5").Line
	sessiontest.Has(t, line, "tools/call with a task", "stateful = true")
	sessiontest.IsFailure(t, line, "5 -32603 call always")
	for i, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		id := fmt.Sprint(10 + i)
		p.Send(knowing(id, method, `"taskId":"t1"`))
		line := p.Answer(id).Line
		sessiontest.Has(t, line, "stateful = true")
		if got := sessiontest.FailureOf(t, line).Error.Code; got != -32601 {
			t.Error(line)
		}
	}
	p.Close()
}

// TestLegacyTasks: the same in the older era, in which the client asks for a task with each call.
func TestLegacyTasks(t *testing.T) {
	t.Parallel()
	f := &sessiontest.Fleet{Servers: map[string]string{"": "clerk"}}
	p := beginStateless(t, f, nil)
	p.Send(strings.Replace(sessiontest.HelloFrom("0", `{"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`), "2025-06-18", "2025-11-25", 1))
	sessiontest.Has(t, p.Answer("0").Line, `"capabilities":{"tools":{},"extensions":{"a/b":{}}}`)
	p.Send(sessiontest.Initialized, sessiontest.Legacy("1", "tools/call", `{"name":"report","task":{"ttl":1},"arguments":{"task":1}}`))
	sessiontest.Has(t, p.Answer("1").Line, `"text":"{\"name\":\"report\",\"arguments\":{\"task\":1}}"`)
	for i := range 2 { // the second answer comes from the cache
		id := fmt.Sprint(2 + i)
		p.Send(sessiontest.Legacy(id, "tools/list", "{}"))
		sessiontest.Has(t, p.Answer(id).Line, `{"tools":[{"name":"report","execution":{}},{"name":"slow","execution":{}},{"name":"always","execution":{"taskSupport":"forbidden"}}]}`)
	}
	started := f.Started("slow")
	for i, row := range []struct{ tool, want string }{{"slow", "taskSupport"}, {"always", "tools/call with a task"}} {
		id := fmt.Sprint(10 + i)
		line := p.Ask(sessiontest.CallOf(id, row.tool, "{}")).Line
		sessiontest.Has(t, line, row.want, "stateful = true")
		sessiontest.FailureOf(t, line)
	}
	if f.Started("slow") != started {
		t.Error("a process was started for a tool that can only answer with a task")
	}
	p.Send(sessiontest.Legacy("20", "tasks/result", `{"taskId":"t1"}`))
	sessiontest.Has(t, p.Answer("20").Line, "-32601", "tasks/result")
	p.Close()
}
