//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestServerRequests: requests of several workers to the client, all with one id and one
// progress token, get their own answers.
func TestServerRequests(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	var asks []sessiontest.Said
	for i := range 3 {
		p.Send(sessiontest.CallOf(fmt.Sprint(i), "ask", `{"id":"a","method":"elicitation/create"}`))
		ask := p.Told("elicitation/create")
		sessiontest.Has(t, string(ask.Params), `"progressToken":`+string(ask.ID)) // ours too
		asks = append(asks, ask)
	}
	for i := 2; i >= 0; i-- {
		p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, asks[i].ID, i),
			sessiontest.ReplyTo(asks[i], fmt.Sprintf(`{"n":%d}`, i)))
	}
	for i := range 3 {
		sessiontest.Has(t, p.Answer(fmt.Sprint(i)).Line, fmt.Sprintf(`id=\"a\" result={\"n\":%d}`, i))
		sessiontest.Has(t, f.Saw("ask", i), fmt.Sprintf(`{"progressToken":"t","progress":%d}`, i))
	}
	for i := range 3 { // again; no request waits for these
		p.Send(sessiontest.ReplyTo(asks[i], `{"again":1}`), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":9}}`, asks[i].ID))
	}
	p.Send(`{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}`, `{"jsonrpc":"2.0","id":0,"result":{}}`)
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	for i := range 3 {
		if strings.Contains(f.Saw("ask", i), "again") {
			t.Error("an answer came twice")
		}
	}
}

// TestProgress: a worker can send progress for its own call only, and only while the call
// is open.
func TestProgress(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.Legacy("1", "tools/call", `{"name":"ask","_meta":{"progressToken":"mine"}}`))
	ask := p.Told("sampling/createMessage")
	for i, token := range []string{`"p"`, "7", `"\u0070"`} {
		p.Send(sessiontest.Legacy(fmt.Sprint(10+i), "tools/call", `{"name":"progress","_meta":{"progressToken":`+token+`}}`))
		sessiontest.Has(t, string(p.Told("notifications/progress").Params), `"progressToken":`+token+`,"progress":1`)
		p.Answer(fmt.Sprint(10 + i))
	}
	p.Send(sessiontest.ReplyTo(ask, "{}"))
	p.Answer("1")
	p.Nothing()
}

// TestCancelledServerRequest: a worker cancels its request to the client.
func TestCancelledServerRequest(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "withdraw", "{}"))
	ask := p.Told("elicitation/create")
	sessiontest.Has(t, string(p.Told("notifications/cancelled").Params), `{"requestId":`+string(ask.ID)+`}`)
	sessiontest.Has(t, p.Answer("1").Line, "never mind")
	p.Send(sessiontest.ReplyTo(ask, "{}"))
	p.Nothing()
}

// TestServerRequestOfDeadWorker: open requests of a worker that is gone are cancelled.
// Late answers to them do no harm.
func TestServerRequestOfDeadWorker(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "ask", "{}"), sessiontest.CallOf("2", "ask", "{}"))
	asks := []sessiontest.Said{p.Told("sampling/createMessage"), p.Told("sampling/createMessage")}
	f.Of("ask")[0].Kill()
	failed := p.Take("the failure", func(s sessiontest.Said) bool { return s.Error != nil })
	sessiontest.IsFailure(t, failed.Line, "call ask")
	withdrawn := p.Told("notifications/cancelled")
	for _, ask := range asks {
		if !strings.Contains(string(withdrawn.Params), `"requestId":`+string(ask.ID)+",") {
			p.Send(sessiontest.ReplyTo(ask, "{}"))
			defer func() {
				sessiontest.Has(t, p.Take("the other", func(s sessiontest.Said) bool { return s.Result != nil }).Line, "id=0 result={}")
				p.Nothing()
			}()
		} else {
			p.Send(sessiontest.ReplyTo(ask, "{}"))
		}
	}
}

// TestUnusableReplies: a worker gets an error for an answer of the client that cannot be
// passed on.
func TestUnusableReplies(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, func(s *session.Session, _ *Options) { s.Profile.Limits.MessageMB = 1 })
	p.Send(sessiontest.CallOf("1", "ask", "{}"))
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.ReplyTo(ask, `{"x":"`+strings.Repeat("x", 2<<20)+`"}`))
	sessiontest.Has(t, p.Answer("1").Line, `id=0 result= error={\"code\":-32603`, "message_mb")
	p.Send(sessiontest.CallOf("2", "ask", "{}"))
	ask = p.Told("sampling/createMessage")
	p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"result":{"a":1}}`, ask.ID))
	sessiontest.Has(t, p.Answer("2").Line, `id=0 result= error={\"code\":-32600`)
	p.Nothing()
}

// TestLongID: the ids that a worker gives its requests are bounded, and those of the client.
func TestLongID(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "ask", `{"id":"`+strings.Repeat("x", mcpproxy.MaxID-2)+`"}`)) // with the quotes
	p.Send(sessiontest.ReplyTo(p.Told("sampling/createMessage"), "{}"))
	sessiontest.Has(t, p.Answer("1").Line, `result={}`)
	p.Send(sessiontest.CallOf("2", "ask", `{"id":"`+strings.Repeat("x", mcpproxy.MaxID-1)+`"}`))
	sessiontest.Has(t, p.Answer("2").Line, "mcp-jail: the id, the progress token or the method is too long")
	long := `"` + strings.Repeat("x", mcpproxy.MaxID-1) + `"`
	p.Send(sessiontest.CallOf(long, "ask", "{}"))
	sessiontest.Has(t, p.Answer(long).Line, "the id of the request is longer than 1024 bytes")
	p.Nothing()
}

// TestManyServerRequests: a worker that asks without end leaves room for others, and gets
// room again after answers.
func TestManyServerRequests(t *testing.T) {
	t.Parallel()
	s := idleSession(t, session.Session{}, Options{})
	pass := func(w *worker, id int) bool {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"m"}`, id))
		return s.serverRequests.forward(w, f, &f.Messages[0])
	}
	one, other := &worker{session: s}, &worker{session: s}
	for i := range maxWorkerRequests {
		if !pass(one, i) {
			t.Fatalf("no room for %d", i)
		}
	}
	if pass(one, -1) || !pass(other, 1) {
		t.Error("one process has taken the room of the others")
	}
	if s.serverRequests.take([]byte("1")) == nil || s.serverRequests.take([]byte("1")) != nil || !pass(one, -1) || pass(one, -2) {
		t.Error("an answer does not make room for one")
	}
	for range maxWorkerRequests / 10 { // taken back
		f := mcpproxy.Parse([]byte(`{"method":"notifications/cancelled","params":{"requestId":-1}}`))
		if !s.serverRequests.cancel(one, f, &f.Messages[0]) || !pass(one, -1) {
			t.Fatal("what was taken back does not make room")
		}
	}
}
