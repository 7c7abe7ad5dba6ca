//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestIDs: each answer has the id of its call, byte for byte, whatever an id can be.
func TestIDs(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.MaxCalls = 16 })
	p.greet()
	ids := []string{"1", "1.0", `"1"`, `"a\"b"`, "9007199254740993", "9007199254740992", `"\u00e9x"`, "-7", `""`, `"mcp-jail/1"`}
	for _, id := range ids {
		p.send(callOf(id, "ask", "{}"))
	}
	asked := map[string]string{} // by our id: which process cannot be told from it
	for range ids {
		asked[string(p.told("sampling/createMessage").ID)] = ""
	}
	if len(asked) != len(ids) {
		t.Fatalf("%d processes that all use id 0 ask as %v", len(ids), asked)
	}
	for id := range asked {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"for":%s}}`, id, id))
	}
	results := map[string]bool{}
	for _, id := range ids {
		l := p.answer(id).line
		has(t, l, `id=0 result={\"for\":`, "calls=1")
		_, result, _ := strings.Cut(l, "result={")
		results[result] = true
	}
	if len(results) != len(ids) {
		t.Errorf("two calls were given one reply: %v", results)
	}
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	// The handshakes had ids of ours, and no two the same.
	seen := map[string]bool{}
	for n := range len(ids) {
		hello, _, _ := strings.Cut(f.saw("ask", n), "\n")
		has(t, hello, `"method":"initialize"`, `"id":"mcp-jail/`)
		if seen[hello] {
			t.Errorf("twice: %q", hello)
		}
		seen[hello] = true
	}
}

// TestDuplicateID: a second request with the id of one under way gets no answer of its
// own, which nobody could tell from the first one's; and its tool is not run.
func TestDuplicateID(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf(`"é"`, "ask", "{}"))
	ask := p.told("sampling/createMessage")
	p.send(callOf(`"\u00e9"`, "crash", "{}"), `{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"x","name":"y"}}`)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ask.ID))
	has(t, p.answer(`"é"`).line, "id=0 result={}")
	stderr := p.nothing()
	has(t, stderr, "for a second request before the first was answered", "can be read in more than one way", "; it was dropped")
	if f.started("crash") != 0 {
		t.Error("the second was run")
	}
}

// TestForgedID: a process answers for nobody but itself, once, and not in our name.
func TestForgedID(t *testing.T) {
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

// TestForgedHandshake: nor does what is kept for other sessions.
func TestForgedHandshake(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "forged-boot" }
	p := beginStateless(t, f, nil)
	for range 2 {
		p.send(clientHello)
		if l := p.answer("0").line; strings.Contains(l, "dev.mcp-jail") || !strings.Contains(l, `"_meta":{}`) {
			t.Errorf("got %q", l)
		}
	}
	p.nothing()
	if f.started("") != 1 {
		t.Error("the second was not from the catalogue")
	}
}

// TestAmbiguousAnswer: what could be the answer to another request is replaced.
func TestAmbiguousAnswer(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("5", "ambiguous", "{}"))
	if got := failureOf(t, p.answer("5").line).String(); got != "5 -32603 call ambiguous" {
		t.Error(got)
	}
	has(t, p.nothing(), "can be read in more than one way")
}

// TestLateAnswers: what a process says to a call that is over is nobody's business,
// and its process ends.
func TestLateAnswers(t *testing.T) {
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

// TestLateLog: what a process logs behind its answer, before it has ended, is heard.
func TestLateLog(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "tools=chat" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.exitGrace = 5 * time.Second })
	p.greet()
	p.send(callOf("1", "chat", "{}"))
	p.answer("1")
	has(t, string(p.told("notifications/message").Params), "and that was it")
	p.nothing()
}

// TestTimeOut: a call is answered when its time is over, and its process is told.
func TestTimeOut(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		s.Profile.Call = 1500 * time.Millisecond
		o.MaxCalls = 1
	})
	p.greet()
	p.send(callOf("1", "late", "{}"), callOf("2", "never", "{}"))
	p.told("notifications/message")
	// The second has waited as long: it may have got a process, or not.
	for id, tool := range map[string]string{"1": "late", "2": "never"} {
		l := p.answer(id).line
		if got := failureOf(t, l).String(); !strings.HasSuffix(got, "call "+tool) {
			t.Error(got)
		}
		has(t, l, "1.5s")
	}
	eventually(t, "the process answers all the same", func() bool { return strings.Contains(f.saw("late", 0), "answered late") })
	has(t, f.saw("late", 0), `"requestId":1,"reason":"timed out"`)
	_, stderr, _ := p.close()
	has(t, stderr, "waiting for the answer")
}

// TestNoLineEnd: a last line without an end reaches a process that waits for one, and
// so does its answer the client.
func TestNoLineEnd(t *testing.T) {
	f := newShop()
	f.servers["last"] = "unended"
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "last", "{}"))
	p.answer("1") // which is read as a line
	p.send(callOf("2", "echo", "{}"))
	p.answer("2")
	p.in.WriteString(callOf("3", "echo", "{}"))
	p.in.Close()
	has(t, p.answer("3").line, "tool=echo")
	p.nothing()
}
