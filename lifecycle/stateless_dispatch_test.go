//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// batch returns the ids of a batch of answers, sorted, and the answers by id.
func (p *play) batch() (ids string, answers map[string]string) {
	p.t.Helper()
	l := p.line()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(l), &all); err != nil {
		p.t.Fatalf("no batch: %.300q: %v", l, err)
	}
	var order []string
	answers = map[string]string{}
	for _, one := range all {
		var s said
		json.Unmarshal(one, &s)
		order = append(order, string(s.ID))
		answers[string(s.ID)] = string(one)
	}
	slices.Sort(order)
	return strings.Join(order, " "), answers
}

// TestBatches: the members of a batch go their ways, and their answers come in one.
func TestBatches(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, atMost(2))
	p.greet()
	p.send("[" + strings.Join([]string{
		callOf("1", "echo", `{"n":9007199254740993}`), initialized, callOf("2", "crash", "{}"),
		legacy("3", "tools/list", "{}"), legacy("4", "ping", "{}"), callOf(`"5"`, "echo", "{}"),
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `7`,
	}, " , ") + "]")
	ids, answers := p.batch()
	if ids != `"5" 1 2 3 4` {
		t.Errorf("answers to %s", ids)
	}
	has(t, answers["1"], `{\"n\":9007199254740993}`, "calls=1")
	has(t, answers["2"], `"tool":"crash"`, `"stage":"call"`)
	has(t, answers["3"], `"tools":[`)
	// Of one; of notifications only; of nothing; with one that is cancelled; of those only.
	p.send("[" + callOf("6", "echo", "{}") + "]")
	if ids, _ := p.batch(); ids != "6" {
		t.Errorf("answers to %s", ids)
	}
	p.send("["+initialized+"]", "[]", "[7]", "["+callOf("7", "never", "{}")+","+callOf("8", "echo", "{}")+"]")
	p.told("notifications/message") // it has begun
	p.send(cancel("7"))
	if ids, _ := p.batch(); ids != "8" {
		t.Errorf("answers to %s", ids)
	}
	p.send("[" + callOf("9", "never", "{}") + "]")
	p.told("notifications/message")
	p.send("["+cancel("9")+"]", legacy("10", "ping", "{}"))
	p.answer("10")
	has(t, p.nothing(), "batch with what is no message", "has sent what is no MCP message")
}

// TestBatchDuplicates: of two members with one id the first counts.
func TestBatchDuplicates(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send("[" + callOf("1", "echo", "{}") + "," + callOf("1", "crash", "{}") + "," + legacy("null", "ping", "{}") + "]")
	ids, answers := p.batch()
	if ids != "1" {
		t.Errorf("answers to %s", ids)
	}
	has(t, answers["1"], "tool=echo")
	p.nothing()
	if f.started("crash") != 0 {
		t.Error("the second was run")
	}
}

// TestRefused: what two readers could read differently reaches no process. Who could
// wait for an answer gets one.
func TestRefused(t *testing.T) {
	for name, row := range map[string]struct {
		line string
		ids  string // that are answered
	}{
		"a name twice":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash"}}`, "1"},
		"another case":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"crash"}}`, "1"},
		"another method":          {`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"echo"}}`, "1"},
		"two methods":             {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"echo"}}`, "1"},
		"two ids":                 {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"two ids but for case":    {`{"jsonrpc":"2.0","id":1,"ID":2,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"a strange id":            {`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"echo"}}`, ""},
		"an id null":              {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"something behind":        {callOf("1", "echo", "{}") + callOf("2", "echo", "{}"), "1"},
		"no name":                 {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, "1"},
		"both":                    {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"},"result":{}}`, "1"},
		"no UTF-8":                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\xff\"}}", "1"},
		"neither":                 {`{"jsonrpc":"2.0","id":1}`, "1"},
		"nothing":                 {`{}`, ""},
		"junk":                    {`tools/call`, ""},
		"junk, cut off":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}`, ""},
		"a large one":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash","arguments":"` + strings.Repeat("x", 5<<20) + `"}}`, "1"},
		"one of a batch":          {"[" + callOf("1", "echo", "{}") + `,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","name":"b"}},` + initialized + "," + callOf("3", "echo", "{}") + "]", "[1 2 3"},
		"a notification of a two": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newShop()
			p := beginStateless(t, f, nil)
			p.greet()
			p.send(row.line)
			if ids, ok := strings.CutPrefix(row.ids, "["); ok {
				got, answers := p.batch()
				if got != ids {
					t.Errorf("answers to %s", got)
				}
				for _, a := range answers {
					has(t, a, `"code":-32600`)
				}
			} else if row.ids != "" {
				has(t, p.answer(row.ids).line, `"code":-32600`, "mcp-jail")
			}
			p.send(legacy("9", "ping", "{}"))
			p.answer("9")
			if p.nothing() == "" {
				t.Error("nothing is said on stderr")
			}
			if n := f.started("echo") + f.started("crash") + f.started("a"); n != 0 || strings.Contains(f.saw("", 0), "tools/call") {
				t.Error("it has reached a process")
			}
		})
	}
}

// TestOversizedMessages: each request beyond the limit, and each call whose answer is,
// has an answer of ours; the session goes on.
func TestOversizedMessages(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.Profile.Limits.MessageMB = 1 })
	p.greet()
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	p.send(callOf("1", "echo", large))
	has(t, p.answer("1").line, `"code":-32603`, "message_mb")
	p.send("[" + callOf("2", "echo", large) + "," + callOf("3", "echo", "{}") + "]")
	if ids, _ := p.batch(); ids != "2 3" {
		t.Errorf("answers to %s", ids)
	}
	p.send(callOf("4", "big", fmt.Sprint(2<<20)), callOf("5", "big", "1000"))
	l := p.answer("4").line
	has(t, l, `"code":-32603`, "message_mb", `"tool":"big"`)
	has(t, p.answer("5").line, "bbbb")
	p.send(`{"jsonrpc":"2.0","method":"notifications/x","params":` + large + "}")
	has(t, p.nothing(), "it was dropped")
	if f.started("echo") != 0 {
		t.Error("it was run")
	}
}

// TestLargeMessages: what does not fit into memory goes through unchanged, both ways.
func TestLargeMessages(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.greet()
	size := 20 << 20
	if raceEnabled { // which makes the decoder of the test's server slow
		size = 5 << 20
	}
	argument := []byte(`"` + strings.Repeat("0123456789abcdef", size/16) + `"`)
	argument[size/2] = '#'
	p.send(callOf("1", "size", string(argument)))
	has(t, p.answer("1").line, fmt.Sprintf(`"sum":%d,"size":%d}`, sum(argument), len(argument)))
	p.send(callOf("2", "big", fmt.Sprint(size)))
	if l := p.answer("2").line; l != `{"jsonrpc":"2.0","id":2,"result":{"content":[],"big":"`+strings.Repeat("b", size)+`"}}`+"\n" {
		t.Errorf("got %d bytes, %.80q", len(l), l)
	}
	p.send("[" + callOf("3", "size", string(argument)) + "," + callOf("4", "big", fmt.Sprint(size)) + "]")
	ids, answers := p.batch()
	if ids != "3 4" || len(answers["4"]) < size {
		t.Errorf("answers to %s", ids)
	}
	has(t, answers["3"], fmt.Sprintf(`"sum":%d`, sum(argument)))
	p.nothing()
}

// TestLargeCancelled: a call that is too large for memory may be cancelled at any time.
func TestLargeCancelled(t *testing.T) {
	p := beginStateless(t, newShop(), atMost(1))
	p.greet()
	large := callOf("1", "size", `"`+strings.Repeat("x", 5<<20)+`"`)
	for i := range 6 {
		p.send(large)
		time.Sleep(time.Duration(i) * 10 * time.Millisecond) // anywhere between start and end
		p.send(cancel("1"), legacy(`"p"`, "ping", "{}"))
		p.answer(`"p"`)
		p.stash = nil // it may have been answered before
	}
	p.send(callOf("2", "echo", "{}"))
	p.answer("2")
	p.close()
}
