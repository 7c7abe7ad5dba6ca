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

// TestBatches: the members of a batch go to different workers, and their answers form one
// batch.
func TestBatches(t *testing.T) {
	t.Parallel()
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
	has(t, p.nothing(), "a batch with members that are not MCP messages", "has sent a line that is not an MCP message")
}

// TestBatchDuplicates: of two members with one id, the first counts.
func TestBatchDuplicates(t *testing.T) {
	t.Parallel()
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

// TestLargeMessages: messages that do not fit into memory pass unchanged, in both
// directions.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
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

// TestLargeCancelled: a call that does not fit into memory may be cancelled at any time.
func TestLargeCancelled(t *testing.T) {
	t.Parallel()
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

// TestSubscriptionsListen: a subscription is acknowledged with the empty filter and stays
// open until it is cancelled or the session ends. It needs no worker.
func TestSubscriptionsListen(t *testing.T) {
	t.Parallel()
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

// TestBroadcast: notifications for all reach each worker; other lines reach none.
func TestBroadcast(t *testing.T) {
	t.Parallel()
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
