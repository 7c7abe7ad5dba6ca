//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestForgedID: a worker can answer its own requests only, once, and without our reserved
// names.
func TestForgedID(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "ask", "{}"))
	ask := p.told("sampling/createMessage")
	p.send(callOf("2", "forge", "1"), callOf("3", "forge", "0"), callOf("4", "twice", "{}"))
	for _, id := range []string{"2", "3"} {
		if l := p.answer(id).line; strings.Contains(l, "dev.mcp-jail") || !strings.Contains(l, `"_meta":{"a":1}`) {
			t.Errorf("the server speaks in our name: %q", l)
		}
	}
	has(t, p.answer("4").line, "first")
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ask.ID))
	has(t, p.answer("1").line, "id=0 result={}")
	p.nothing()
}

// TestAmbiguousAnswer: an answer that could be read as one to another request is replaced
// by an error.
func TestAmbiguousAnswer(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("5", "ambiguous", "{}"))
	if got := failureOf(t, p.answer("5").line).String(); got != "5 -32603 call ambiguous" {
		t.Error(got)
	}
	has(t, p.nothing(), "two JSON readers could read one of its messages differently")
}

// TestLateAnswers: an answer to a call that is over is dropped, and the worker ends.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "late", "{}"))
	p.told("notifications/message")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bored"}}`)
	eventually(t, "the process answers all the same", func() bool { return strings.Contains(f.saw("late", 0), "answered late") })
	has(t, f.saw("late", 0), `"requestId":1,"reason":"bored"`)
	f.of("late")[0].ended(t)
	p.send(callOf("1", "echo", "{}")) // the id is free again
	has(t, p.answer("1").line, "tool=echo")
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestForgedLog: a log message has no member that only mcp-jail's have.
func TestForgedLog(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "forge-log", "{}"))
	if got := p.told("notifications/message").line; !strings.Contains(got, `"params":{"data":"d","_meta":{}}`) {
		t.Errorf("got %q", got)
	}
	p.answer("1")
}

// TestLateLog: the client gets what a worker logs between its answer and its end.
func TestLateLog(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "tools=chat" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.exitGrace = 5 * time.Second })
	p.greet()
	p.send(callOf("1", "chat", "{}"))
	p.answer("1")
	has(t, string(p.told("notifications/message").Params), "and that was it")
	p.nothing()
}

// TestRequestWithoutCall: a request of a worker reaches the client only while the worker
// has a call. The client would take it for a part of another call.
func TestRequestWithoutCall(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(tool string, _ int) string {
		if tool == "echo" {
			return `after={"jsonrpc":"2.0","id":"early","method":"sampling/createMessage"}`
		}
		return ""
	}
	p := beginStateless(t, f, func(_ *Session, o *Stateless) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
	})
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	eventually(t, "the refusal", func() bool {
		return strings.Contains(f.saw("echo", 0), `"id":"early","error":{"code":-32603,"message":"mcp-jail: no call is running`)
	})
	p.send(callOf("2", "behind", "{}"))
	p.answer("2")
	<-f.of("behind")[0].done
	p.nothing()
}
