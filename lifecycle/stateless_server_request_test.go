//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// reply is the client's answer to a request of a process.
func replyTo(ask said, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, ask.ID, result)
}

// TestServerRequests: requests of several workers to the client, all with one id and one
// progress token, get their own answers.
func TestServerRequests(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	var asks []said
	for i := range 3 {
		p.send(callOf(fmt.Sprint(i), "ask", `{"id":"a","method":"elicitation/create"}`))
		ask := p.told("elicitation/create")
		has(t, string(ask.Params), `"progressToken":`+string(ask.ID)) // ours too
		asks = append(asks, ask)
	}
	for i := 2; i >= 0; i-- {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, asks[i].ID, i),
			replyTo(asks[i], fmt.Sprintf(`{"n":%d}`, i)))
	}
	for i := range 3 {
		has(t, p.answer(fmt.Sprint(i)).line, fmt.Sprintf(`id=\"a\" result={\"n\":%d}`, i))
		has(t, f.saw("ask", i), fmt.Sprintf(`{"progressToken":"t","progress":%d}`, i))
	}
	for i := range 3 { // again; no request waits for these
		p.send(replyTo(asks[i], `{"again":1}`), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":9}}`, asks[i].ID))
	}
	p.send(`{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","id":12345678901234567890,"result":{}}`, `{"jsonrpc":"2.0","id":0,"result":{}}`)
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	for i := range 3 {
		if strings.Contains(f.saw("ask", i), "again") {
			t.Error("an answer came twice")
		}
	}
}

// TestProgress: a worker can send progress for its own call only, and only while the call
// is open.
func TestProgress(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(legacy("1", "tools/call", `{"name":"ask","_meta":{"progressToken":"mine"}}`))
	ask := p.told("sampling/createMessage")
	for i, token := range []string{`"p"`, "7", `"\u0070"`} {
		p.send(legacy(fmt.Sprint(10+i), "tools/call", `{"name":"progress","_meta":{"progressToken":`+token+`}}`))
		has(t, string(p.told("notifications/progress").Params), `"progressToken":`+token+`,"progress":1`)
		p.answer(fmt.Sprint(10 + i))
	}
	p.send(replyTo(ask, "{}"))
	p.answer("1")
	p.nothing()
}

// TestCancelledServerRequest: a worker cancels its request to the client.
func TestCancelledServerRequest(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "withdraw", "{}"))
	ask := p.told("elicitation/create")
	has(t, string(p.told("notifications/cancelled").Params), `{"requestId":`+string(ask.ID)+`}`)
	has(t, p.answer("1").line, "never mind")
	p.send(replyTo(ask, "{}"))
	p.nothing()
}

// TestServerRequestOfDeadWorker: open requests of a worker that is gone are cancelled.
// Late answers to them do no harm.
func TestServerRequestOfDeadWorker(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "ask", "{}"), callOf("2", "ask", "{}"))
	asks := []said{p.told("sampling/createMessage"), p.told("sampling/createMessage")}
	f.of("ask")[0].Kill()
	failed := p.take("the failure", func(s said) bool { return s.Error != nil })
	if got := failureOf(t, failed.line).String(); !strings.HasSuffix(got, "call ask") {
		t.Error(got)
	}
	withdrawn := p.told("notifications/cancelled")
	for _, ask := range asks {
		if !strings.Contains(string(withdrawn.Params), `"requestId":`+string(ask.ID)+",") {
			p.send(replyTo(ask, "{}"))
			defer func() {
				has(t, p.take("the other", func(s said) bool { return s.Result != nil }).line, "id=0 result={}")
				p.nothing()
			}()
		} else {
			p.send(replyTo(ask, "{}"))
		}
	}
}

// TestUnusableReplies: a worker gets an error for an answer of the client that cannot be
// passed on.
func TestUnusableReplies(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), func(s *Session, _ *Stateless) { s.Profile.Limits.MessageMB = 1 })
	p.greet()
	p.send(callOf("1", "ask", "{}"))
	ask := p.told("sampling/createMessage")
	p.send(replyTo(ask, `{"x":"`+strings.Repeat("x", 2<<20)+`"}`))
	has(t, p.answer("1").line, `id=0 result= error={\"code\":-32603`, "message_mb")
	p.send(callOf("2", "ask", "{}"))
	ask = p.told("sampling/createMessage")
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"result":{"a":1}}`, ask.ID))
	has(t, p.answer("2").line, `id=0 result= error={\"code\":-32600`)
	p.nothing()
}

// TestLongID: the ids that a worker gives its requests are bounded.
func TestLongID(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "ask", `{"id":"`+strings.Repeat("x", maxRequestIDLen-5)+`"}`)) // with the quotes, and those of "t"
	p.send(replyTo(p.told("sampling/createMessage"), "{}"))
	has(t, p.answer("1").line, `result={}`)
	p.send(callOf("2", "ask", `{"id":"`+strings.Repeat("x", maxRequestIDLen-4)+`"}`))
	has(t, p.answer("2").line, "mcp-jail: the id or the progress token is too long")
	p.nothing()
}

// TestManyServerRequests: a worker that asks without end leaves room for others, and gets
// room again after answers.
func TestManyServerRequests(t *testing.T) {
	t.Parallel()
	s := idleSession(t, Session{}, Stateless{})
	pass := func(w *worker, id int) bool {
		f := mcpproxy.Parse(fmt.Appendf(nil, `{"id":%d,"method":"m"}`, id))
		return s.forwardServerRequest(w, f, &f.Messages[0])
	}
	process := func() *worker { return &worker{session: s, asked: s.client.proxy.Memory.Share(0)} }
	one, other := process(), process()
	for i := range maxWorkerRequests {
		if !pass(one, i) {
			t.Fatalf("no room for %d", i)
		}
	}
	if pass(one, -1) || !pass(other, 1) {
		t.Error("one process has taken the room of the others")
	}
	if s.takeServerRequest([]byte("1")) == nil || s.takeServerRequest([]byte("1")) != nil || !pass(one, -1) || pass(one, -2) {
		t.Error("an answer does not make room for one")
	}
	for range maxWorkerRequests / 10 { // taken back
		f := mcpproxy.Parse([]byte(`{"method":"notifications/cancelled","params":{"requestId":-1}}`))
		if !s.cancelServerRequest(one, f, &f.Messages[0]) || !pass(one, -1) {
			t.Fatal("what was taken back does not make room")
		}
	}
}
