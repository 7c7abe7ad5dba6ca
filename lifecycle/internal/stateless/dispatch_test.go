//go:build unix

package stateless

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
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
	const size = 5 << 20
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

// TestPrepare: for each profile as many jails are prepared as calls under it have waited at once, not during
// calls, and not for long. Tools of equal profiles share them. A profile that its tool no longer has gets none.
func TestPrepare(t *testing.T) {
	t.Parallel()
	got := "none"
	s := idleSession(t, session.Session{}, Options{MaxCalls: 6, Prepare: func(profiles []*policy.Profile) {
		got = ""
		for _, p := range profiles {
			got += p.Dir[1:]
		}
	}})
	at := time.Unix(1e9, 0)
	profiles := map[rune]*policy.Profile{
		'a': {Tool: "a", Dir: "/1"}, 'b': {Tool: "b", Dir: "/1"}, 'c': {Tool: "c", Dir: "/2"}, 'C': {Tool: "c", Dir: "/3"},
	}
	for _, tool := range "defghijk" {
		profiles[tool] = &policy.Profile{Tool: string(tool), Dir: "/" + string(tool)}
	}
	for _, c := range []struct {
		what  string
		calls string
		after time.Duration
		want  string
	}{
		{"no call yet", "", 0, ""},
		{"three at once", "aab", 0, "none"},
		{"soon after them", "", prepareAfter, "111"},
		{"one call", "a", prepareAfter, "111"},
		{"two under another profile", "cc", prepareAfter, "22111"},
		{"more than may be", "bbbbb", prepareAfter, "111112"},
		{"its tool has another profile", "C", prepareAfter, "311111"},
		{"more profiles than calls", "defghijk", prepareAfter, "kjihgf"},
		{"long after it", "", preparedFor, ""},
		{"one call later", "a", prepareAfter, "1"},
	} {
		var ends []func()
		for _, tool := range c.calls {
			ends = append(ends, s.pool.beginCall(profiles[tool], at))
		}
		if got = "none"; len(ends) > 0 {
			s.pool.prepare(at.Add(prepareAfter))
		}
		if got != "none" {
			t.Errorf("%s: jails are prepared while a call waits", c.what)
		}
		for _, end := range ends {
			end()
		}
		at = at.Add(c.after)
		s.pool.prepare(at)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		at = at.Add(time.Millisecond)
	}
	if n := len(s.pool.demands); n > maxDemands {
		t.Errorf("%d profiles are compared for each call", n)
	}
}
