//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestModern: calls of the modern era have no handshake, and keep their bytes.
func TestModern(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	call := modern("1", "tools/call", `"name":"echo","arguments":{"n": 9007199254740993}`)
	p.send(call)
	has(t, p.answer("1").line, `{\"n\": 9007199254740993}`, "calls=1")
	p.send(modern("2", "tools/call", `"name":"echo","arguments":{}`))
	p.answer("2")
	if saw := f.saw("echo", 0); saw != call+"\n" || f.started("echo") != 2 {
		t.Errorf("the process saw %q, of %d", saw, f.started("echo"))
	}
	p.nothing()
}

// TestDiscover: what becomes of server/discover. Each row is asked twice: none may
// stop what follows.
func TestDiscover(t *testing.T) {
	for option, row := range map[string]struct {
		want []string
		not  string
		said bool // on stderr
	}{
		"ttl=0":        {[]string{`"resultType":"complete"`, `"capabilities":{"tools":{},"resources":{}}`}, "subscribe", false},
		"error-probe":  {[]string{`"error":{"code":-32601,"message":"what?"}`}, "mcp-jail", false},
		"die-probe":    {[]string{`"error":{"code":-32601,`, "ended on server/discover", "dev.mcp-jail/shield"}, "result", false},
		"silent-probe": {[]string{`"error":{"code":-32601,`, "has ignored server/discover", "dev.mcp-jail/shield"}, "result", false},
	} {
		t.Run(option, func(t *testing.T) {
			f := newShop()
			f.options = func(string, int) string { return option }
			p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.discover = 200 * time.Millisecond })
			for _, id := range []string{"1", "2"} {
				p.send(modern(id, "server/discover", ""))
				l := p.answer(id).line
				has(t, l, row.want...)
				if strings.Contains(l, row.not) {
					t.Errorf("%q", l)
				}
			}
			p.greet() // a client of both eras goes on so, or with a modern call
			p.send(callOf("3", "echo", "{}"), modern("4", "tools/call", `"name":"echo","arguments":{}`))
			has(t, p.answer("3").line, "calls=1")
			has(t, p.answer("4").line, "calls=1")
			if stderr := p.nothing(); (stderr != "") != row.said {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}

// TestInputRequired: the second round of a call goes to another process, with the bytes
// that the first one has given.
func TestInputRequired(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.send(modern("1", "tools/call", `"name":"input","arguments":{}`))
	var first struct {
		Result struct{ RequestState json.RawMessage }
	}
	l := p.answer("1").line
	if err := json.Unmarshal([]byte(l), &first); err != nil || first.Result.RequestState == nil {
		t.Fatalf("%q: %v", l, err)
	}
	state := string(first.Result.RequestState)
	p.send(modern("2", "tools/call", `"name":"input","arguments":{},"inputResponses":{"a":{"action":"accept"}},"requestState":`+state))
	l = p.answer("2").line
	has(t, l, `"answers":{"a":{"action":"accept"}}`, `"state":`+state)
	var second struct{ Result struct{ Pid int } }
	json.Unmarshal([]byte(l), &second)
	if strings.HasPrefix(state, fmt.Sprintf("%q", fmt.Sprint(second.Result.Pid))[:2]) && strings.Contains(state, fmt.Sprint(second.Result.Pid)+"\\") {
		t.Error("both rounds had one process")
	}
	p.nothing()
}

// TestListen: a subscription is acknowledged with the empty filter, stays open, and
// ends with its cancellation or the session. It has no process.
func TestListen(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	for _, id := range []string{`"s"`, "7"} {
		p.send(modern(id, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
		ack := p.told("notifications/subscriptions/acknowledged")
		has(t, string(ack.Params), `"io.modelcontextprotocol/subscriptionId":`+id+`}`, `"notifications":{}`)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
	p.send(modern("8", "resources/subscribe", `"uri":"x"`))
	has(t, p.answer("8").line, `"code":-32601`)
	p.in.Close()
	has(t, p.answer("7").line, `"resultType":"complete"`, `"io.modelcontextprotocol/subscriptionId":7}`)
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	if f.started("") != 0 {
		t.Error("a process was started")
	}
}

// TestPruned: what a server cannot do without a process that lives on is not offered.
func TestPruned(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	for _, id := range []string{"0", "1"} { // from the server, and from the catalogue
		p.send(helloFrom(id, "{}"))
		has(t, p.answer(id).line, `"capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{}},"serverInfo"`)
	}
	p.nothing()
}

// TestClientsOfModernRequests: each request says who asks, and is answered for that
// client, whoever else asks at the same time.
func TestClientsOfModernRequests(t *testing.T) {
	f := newShop()
	f.options = func(_ string, n int) string { return "ttl=60000" }
	p := beginStateless(t, f, nil)
	for i := range 40 {
		id, client := fmt.Sprint(i), fmt.Sprint("client", i%4)
		p.send(modernBy(client, id, "tools/list", ""))
	}
	for i := range 40 {
		p.answer(fmt.Sprint(i))
	}
	if f.started("") != 1 {
		t.Errorf("%d discovery processes", f.started(""))
	}
	for i := range 4 {
		n := strings.Count(f.saw("", 0), fmt.Sprintf(`"name":"client%d"`, i))
		if n == 0 {
			t.Errorf("client %d was given the list of another", i)
		}
	}
	p.nothing()
}

// TestUndated: what does not say who asks is from whom it was before, and for the
// process that knows it.
func TestUndated(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.send(modern("1", "tools/list", ""))
	p.answer("1")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
	p.answer("2")
	if saw := f.saw("", 0); f.started("") != 1 || !strings.Contains(saw, "logging/setLevel") {
		t.Errorf("the first of %d saw %q", f.started(""), saw)
	}
	p.nothing()
}
