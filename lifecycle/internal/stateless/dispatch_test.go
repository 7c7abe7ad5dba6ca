//go:build unix

package stateless

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// batch returns the ids of a batch of answers, sorted, and the answers by id.
func (p *statelessPlay) batch() (ids string, answers map[string]string) {
	p.T.Helper()
	l := p.Line()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(l), &all); err != nil {
		p.T.Fatalf("no batch: %.300q: %v", l, err)
	}
	var order []string
	answers = map[string]string{}
	for _, one := range all {
		var s sessiontest.Said
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
	_, p := greeted(t, atMost(2))
	p.Send("[" + strings.Join([]string{
		sessiontest.CallOf("1", "echo", `{"n":9007199254740993}`), sessiontest.Initialized, sessiontest.CallOf("2", "crash", "{}"),
		sessiontest.Legacy("3", "tools/list", "{}"), sessiontest.Legacy("4", "ping", "{}"), sessiontest.CallOf(`"5"`, "echo", "{}"),
		`{"jsonrpc":"2.0","id":77,"result":{}}`, `7`,
	}, " , ") + "]")
	ids, answers := p.batch()
	if ids != `"5" 1 2 3 4` {
		t.Errorf("answers to %s", ids)
	}
	sessiontest.Has(t, answers["1"], `{\"n\":9007199254740993}`, "calls=1")
	sessiontest.Has(t, answers["2"], `"tool":"crash"`, `"stage":"call"`)
	sessiontest.Has(t, answers["3"], `"tools":[`)
	// Of one; of notifications only; of nothing; with one that is cancelled; of those only.
	p.Send("[" + sessiontest.CallOf("6", "echo", "{}") + "]")
	if ids, _ := p.batch(); ids != "6" {
		t.Errorf("answers to %s", ids)
	}
	p.Send("["+sessiontest.Initialized+"]", "[]", "[7]", "["+sessiontest.CallOf("7", "never", "{}")+","+sessiontest.CallOf("8", "echo", "{}")+"]")
	p.Told("notifications/message") // it has begun
	p.Send(cancel("7"))
	if ids, _ := p.batch(); ids != "8" {
		t.Errorf("answers to %s", ids)
	}
	p.Send("[" + sessiontest.CallOf("9", "never", "{}") + "]")
	p.Told("notifications/message")
	p.Send("["+cancel("9")+"]", sessiontest.Legacy("10", "ping", "{}"))
	p.Answer("10")
	sessiontest.Has(t, p.Nothing(), "a batch with members that are not MCP messages", "has sent a line that is not an MCP message")
}

// TestBatchDuplicates: of two members with one id, the first counts.
func TestBatchDuplicates(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send("[" + sessiontest.CallOf("1", "echo", "{}") + "," + sessiontest.CallOf("1", "crash", "{}") + "," + sessiontest.Legacy("null", "ping", "{}") + "]")
	ids, answers := p.batch()
	if ids != "1" {
		t.Errorf("answers to %s", ids)
	}
	sessiontest.Has(t, answers["1"], "tool=echo")
	p.Nothing()
	if f.Started("crash") != 0 {
		t.Error("the second was run")
	}
}

// TestLargeMessages: messages that do not fit into memory pass unchanged, in both
// directions.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	size := 20 << 20
	if sessiontest.RaceEnabled { // which makes the decoder of the test's server slow
		size = 5 << 20
	}
	argument := []byte(`"` + strings.Repeat("0123456789abcdef", size/16) + `"`)
	argument[size/2] = '#'
	p.Send(sessiontest.CallOf("1", "size", string(argument)))
	sessiontest.Has(t, p.Answer("1").Line, fmt.Sprintf(`"sum":%d,"size":%d}`, sessiontest.Sum(argument), len(argument)))
	p.Send(sessiontest.CallOf("2", "big", fmt.Sprint(size)))
	if l := p.Answer("2").Line; l != `{"jsonrpc":"2.0","id":2,"result":{"content":[],"big":"`+strings.Repeat("b", size)+`"}}`+"\n" {
		t.Errorf("got %d bytes, %.80q", len(l), l)
	}
	p.Send("[" + sessiontest.CallOf("3", "size", string(argument)) + "," + sessiontest.CallOf("4", "big", fmt.Sprint(size)) + "]")
	ids, answers := p.batch()
	if ids != "3 4" || len(answers["4"]) < size {
		t.Errorf("answers to %s", ids)
	}
	sessiontest.Has(t, answers["3"], fmt.Sprintf(`"sum":%d`, sessiontest.Sum(argument)))
	p.Nothing()
}

// TestLargeCancelled: a call that does not fit into memory may be cancelled at any time.
func TestLargeCancelled(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, atMost(1))
	large := sessiontest.CallOf("1", "size", `"`+strings.Repeat("x", 5<<20)+`"`)
	for i := range 6 {
		p.Send(large)
		time.Sleep(time.Duration(i) * 10 * time.Millisecond) // anywhere between start and end
		p.Send(cancel("1"), sessiontest.Legacy(`"p"`, "ping", "{}"))
		p.Answer(`"p"`)
		p.Stash = nil // it may have been answered before
	}
	p.Ask(sessiontest.CallOf("2", "echo", "{}"))
	p.Close()
}

// TestSubscriptionsListen: a subscription is acknowledged with the empty filter and stays
// open until it is cancelled or the session ends. It needs no worker.
func TestSubscriptionsListen(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	for _, id := range []string{`"s"`, "7"} {
		p.Send(sessiontest.Modern(id, "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
		ack := p.Told("notifications/subscriptions/acknowledged")
		sessiontest.Has(t, string(ack.Params), `"io.modelcontextprotocol/subscriptionId":`+id+`}`, `"notifications":{}`)
	}
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}`)
	sessiontest.Has(t, p.Ask(sessiontest.Modern("8", "resources/subscribe", `"uri":"x"`)).Line, `"code":-32601`)
	p.In.Close()
	sessiontest.Has(t, p.Answer("7").Line, `"resultType":"complete"`, `"io.modelcontextprotocol/subscriptionId":7}`)
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	if f.Started("") != 0 {
		t.Error("a process was started")
	}
}

// TestBroadcast: notifications for all reach each worker; other lines reach none.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "never", "{}"))
	p.Told("notifications/message")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"crash"}}`, `{"jsonrpc":"2.0","method":"ping"}`)
	for _, tool := range []string{"", "never"} {
		sessiontest.Eventually(t, "the process of "+tool+" is told", func() bool { return strings.Contains(f.Saw(tool, 0), "roots/list_changed") })
	}
	p.Ask(sessiontest.Legacy("2", "ping", "{}"))
	p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	sessiontest.Has(t, p.Nothing(), `a request "tools/call" without an id`, `a request "ping" without an id`)
	if f.Started("crash") != 0 || strings.Contains(f.Saw("", 0)+f.Saw("never", 0), "crash") {
		t.Error("a call without an id has reached a process")
	}
}
