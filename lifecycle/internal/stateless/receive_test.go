//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestForgedID: a worker can answer its own requests only, once, and without our reserved
// names.
func TestForgedID(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "ask", "{}"))
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.CallOf("2", "forge", "1"), sessiontest.CallOf("3", "forge", "0"), sessiontest.CallOf("4", "twice", "{}"))
	for _, id := range []string{"2", "3"} {
		if l := p.Answer(id).Line; strings.Contains(l, "dev.mcp-jail") || !strings.Contains(l, `"_meta":{"a":1}`) {
			t.Errorf("the server speaks in our name: %q", l)
		}
	}
	sessiontest.Has(t, p.Answer("4").Line, "first")
	p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ask.ID))
	sessiontest.Has(t, p.Answer("1").Line, "id=0 result={}")
	p.Nothing()
}

// TestAmbiguousAnswer: an answer that could be read as one to another request is replaced
// by an error.
func TestAmbiguousAnswer(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	sessiontest.IsFailure(t, p.Ask(sessiontest.CallOf("5", "ambiguous", "{}")).Line, "5 -32603 call ambiguous")
	sessiontest.Has(t, p.Nothing(), "two JSON readers could read one of its messages differently")
}

// TestLateAnswers: an answer to a call that is over is dropped, and the worker ends.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "late", "{}"))
	p.Told("notifications/message")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"bored"}}`)
	sessiontest.Eventually(t, "the process answers all the same", func() bool { return strings.Contains(f.Saw("late", 0), "answered late") })
	sessiontest.Has(t, f.Saw("late", 0), `"requestId":1,"reason":"bored"`)
	f.Of("late")[0].Ended(t)
	p.Send(sessiontest.CallOf("1", "echo", "{}")) // the id is free again
	sessiontest.Has(t, p.Answer("1").Line, "tool=echo")
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestForgedLog: a log message has no member that only mcp-jail's have.
func TestForgedLog(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "forge-log", "{}"))
	if got := p.Told("notifications/message").Line; !strings.Contains(got, `"params":{"data":"d","_meta":{}}`) {
		t.Errorf("got %q", got)
	}
	p.Answer("1")
}

// TestLateLog: the client gets what a worker logs between its answer and its end.
func TestLateLog(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "tools=chat" }
	p := beginStateless(t, f, func(s *session.Session, _ *Options) { session.TimesOf(s).ExitGrace = 5 * time.Second })
	p.Greet()
	p.Ask(sessiontest.CallOf("1", "chat", "{}"))
	sessiontest.Has(t, string(p.Told("notifications/message").Params), "and that was it")
	p.Nothing()
}

// TestRequestWithoutCall: a request of a worker reaches the client only while the worker
// has a call. The client would take it for a part of another call.
func TestRequestWithoutCall(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, _ int) string {
		if tool == "echo" {
			return `after={"jsonrpc":"2.0","id":"early","method":"sampling/createMessage"}`
		}
		return ""
	}
	p := beginStateless(t, f, func(_ *session.Session, o *Options) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
	})
	p.Greet()
	p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
	sessiontest.Eventually(t, "the refusal", func() bool {
		return strings.Contains(f.Saw("echo", 0), `"id":"early","error":{"code":-32603,"message":"mcp-jail: no call is running`)
	})
	p.Ask(sessiontest.CallOf("2", "behind", "{}"))
	<-f.Of("behind")[0].Done()
	p.Nothing()
}
