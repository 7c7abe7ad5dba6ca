//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// reply is the client's answer to a request of a process.
func replyTo(ask said, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, ask.ID, result)
}

// TestReverse: what processes ask the client, all with one id and one progress token,
// comes back to who has asked.
func TestReverse(t *testing.T) {
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
	for i := range 3 { // again, and to nobody
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

// TestProgress: a process tells of its own call only, and only while it works on it.
func TestProgress(t *testing.T) {
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

// TestWithdrawn: a process may take its question back.
func TestWithdrawn(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "withdraw", "{}"))
	ask := p.told("elicitation/create")
	has(t, string(p.told("notifications/cancelled").Params), `{"requestId":`+string(ask.ID)+`}`)
	has(t, p.answer("1").line, "never mind")
	p.send(replyTo(ask, "{}"))
	p.nothing()
}

// TestGoneAsking: the questions of a process that is gone are taken back for it, and
// answers that still come do nobody harm.
func TestGoneAsking(t *testing.T) {
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

// TestSpoiltReplies: a process hears of an answer of the client that cannot be passed
// on.
func TestSpoiltReplies(t *testing.T) {
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

// TestRootsOfTools: each process is shown the roots that its own tool may read.
func TestRootsOfTools(t *testing.T) {
	for _, mode := range []string{rootsOff, rootsNarrow, rootsAdvertise} {
		t.Run(mode, func(t *testing.T) {
			p := beginStateless(t, newShop(), func(_ *Session, o *Stateless) {
				resolve := o.Tool
				o.Tool = func(name string) (Tool, error) {
					tool, err := resolve(name)
					tool.Profile.Roots = mode
					path := map[string]string{"ask": "/work/a", "echo": "/work/b"}[name]
					tool.Profile.Entries = []policy.Entry{{Path: path, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule, Named: path}}
					return tool, err
				}
			})
			p.greet() // without the capability roots
			p.send(callOf("1", "ask", `{"method":"roots/list"}`))
			want := `/work/a`
			if mode != rootsAdvertise {
				p.send(replyTo(p.told("roots/list"), `{"roots":[{"uri":"file:///work"}]}`))
			}
			if mode == rootsOff {
				want = `file:///work\"}`
			}
			l := p.answer("1").line
			has(t, l, want)
			if strings.Contains(l, "/work/b") || mode != rootsOff && strings.Contains(l, `file:///work\"`) {
				t.Errorf("it saw %q", l)
			}
			p.nothing()
		})
	}
}

// TestBroadcast: what the client says to everybody reaches each process, and what is
// no such thing none.
func TestBroadcast(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "never", "{}"))
	p.told("notifications/message")
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"crash"}}`, `{"jsonrpc":"2.0","method":"ping"}`)
	for _, tool := range []string{"", "never"} {
		eventually(t, "the process of "+tool+" is told", func() bool { return strings.Contains(f.saw(tool, 0), "roots/list_changed") })
	}
	p.send(legacy("2", "ping", "{}"))
	p.answer("2")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	has(t, p.nothing(), `a request "tools/call" without an id`, `a request "ping" without an id`)
	if f.started("crash") != 0 || strings.Contains(f.saw("", 0)+f.saw("never", 0), "crash") {
		t.Error("a call without an id has reached a process")
	}
}
