//go:build unix

package stateless

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// TestIDs: each answer has the id of its call, byte for byte, for any JSON value.
func TestIDs(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(_ *session.Session, o *Options) { o.MaxCalls = 16 })
	ids := []string{"1", "1.50", `"1"`, `"a\"b"`, "9007199254740993", "9007199254740992", `"\u00e9x"`, "-7", `""`, `"mcp-jail/1"`}
	for _, id := range ids {
		p.Send(sessiontest.CallOf(id, "ask", "{}"))
	}
	asked := map[string]string{} // by our id: which process cannot be told from it
	for range ids {
		asked[string(p.Told("sampling/createMessage").ID)] = ""
	}
	if len(asked) != len(ids) {
		t.Fatalf("%d processes that all use id 0 ask as %v", len(ids), asked)
	}
	for id := range asked {
		p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"for":%s}}`, id, id))
	}
	results := map[string]bool{}
	for _, id := range ids {
		l := p.Answer(id).Line
		sessiontest.Has(t, l, `id=0 result={\"for\":`, "calls=1")
		_, result, _ := strings.Cut(l, "result={")
		results[result] = true
	}
	if len(results) != len(ids) {
		t.Errorf("two calls were given one reply: %v", results)
	}
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
	// The handshakes had ids of ours, and no two the same.
	seen := map[string]bool{}
	for n := range len(ids) {
		hello, _, _ := strings.Cut(f.Saw("ask", n), "\n")
		sessiontest.Has(t, hello, `"method":"initialize"`, `"id":"mcp-jail/`)
		if seen[hello] {
			t.Errorf("twice: %q", hello)
		}
		seen[hello] = true
	}
}

// TestDuplicateID: a second request with the id of an open one gets no answer, since the
// client could not tell it from the first one's. Its tool is not run.
func TestDuplicateID(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf(`"é"`, "ask", "{}"))
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.CallOf(`"\u00e9"`, "crash", "{}"), `{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{"name":"x","name":"y"}}`)
	p.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, ask.ID))
	sessiontest.Has(t, p.Answer(`"é"`).Line, "id=0 result={}")
	stderr := p.Nothing()
	sessiontest.Has(t, stderr, "for a second request before the first was answered", "two JSON readers could read the message differently", ". It was dropped")
	if f.Started("crash") != 0 {
		t.Error("the second was run")
	}
}

// TestAmbiguousMessages: a message that two readers could read differently reaches no
// worker. Requests in it are answered with an error.
func TestAmbiguousMessages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		line string
		ids  string // that are answered
	}{
		"a name twice":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash"}}`, "1"},
		"another method":          {`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"echo"}}`, "1"},
		"two ids":                 {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"a strange id":            {`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"echo"}}`, ""},
		"an id null":              {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"something behind":        {sessiontest.CallOf("1", "echo", "{}") + sessiontest.CallOf("2", "echo", "{}"), "1"},
		"no UTF-8":                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\xff\"}}", "1"},
		"neither":                 {`{"jsonrpc":"2.0","id":1}`, "1"},
		"nothing":                 {`{}`, ""},
		"junk, cut off":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}`, ""},
		"a large one":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash","arguments":"` + strings.Repeat("x", 5<<20) + `"}}`, "1"},
		"one of a batch":          {"[" + sessiontest.CallOf("1", "echo", "{}") + `,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","name":"b"}},` + sessiontest.Initialized + "," + sessiontest.CallOf("3", "echo", "{}") + "]", "[1 2 3"},
		"a notification of a two": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := greeted(t, nil)
			p.Send(row.line)
			if ids, ok := strings.CutPrefix(row.ids, "["); ok {
				got, answers := p.batch()
				if got != ids {
					t.Errorf("answers to %s", got)
				}
				for _, a := range answers {
					sessiontest.Has(t, a, `"code":-32600`)
				}
			} else if row.ids != "" {
				sessiontest.Has(t, p.Answer(row.ids).Line, `"code":-32600`, "mcp-jail")
			}
			p.Ask(sessiontest.Legacy("9", "ping", "{}"))
			if p.Nothing() == "" {
				t.Error("nothing is said on stderr")
			}
			if n := f.Started("echo") + f.Started("crash") + f.Started("a"); n != 0 || strings.Contains(f.Saw("", 0), "tools/call") {
				t.Error("it has reached a process")
			}
		})
	}
}

// TestOversizedFrames: each request that is too large, and each call with an answer that
// is too large, gets an error; the session goes on.
func TestOversizedFrames(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(s *session.Session, _ *Options) { s.Profile.Limits.MessageMB = 1 })
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", large)).Line, `"code":-32603`, "message_mb")
	p.Send("[" + sessiontest.CallOf("2", "echo", large) + "," + sessiontest.CallOf("3", "echo", "{}") + "]")
	if ids, _ := p.batch(); ids != "2 3" {
		t.Errorf("answers to %s", ids)
	}
	p.Send(sessiontest.CallOf("4", "big", fmt.Sprint(2<<20)), sessiontest.CallOf("5", "big", "1000"))
	l := p.Answer("4").Line
	sessiontest.Has(t, l, `"code":-32603`, "message_mb", `"tool":"big"`)
	sessiontest.Has(t, p.Answer("5").Line, "bbbb")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/x","params":` + large + "}")
	sessiontest.Has(t, p.Nothing(), "It was dropped")
	if f.Started("echo") != 0 {
		t.Error("it was run")
	}
}

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

func newQueue() *sendQueue {
	q := new(sendQueue)
	q.init(&streams.CountingWriter{})
	return q
}

func frameOf(n int) *mcpproxy.Frame {
	return mcpproxy.Parse([]byte(`{"method":"` + strings.Repeat("m", n) + `"}`))
}

// TestQueueBounds: one frame of any size waits, and further ones while they are few and small.
func TestQueueBounds(t *testing.T) {
	t.Parallel()
	for size, most := range map[int]int{1: maxQueued, maxQueuedSize / 4: 3, 2 * maxQueuedSize: 1} {
		q, n := newQueue(), 0
		for q.tryEnqueue(frameOf(size)) {
			n++
		}
		if n != most {
			t.Errorf("%d frames of %d bytes wait, want %d", n, size, most)
		}
	}
}

// TestEnqueue: enqueue waits until there is room, the queue is closed or its context is done.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(q *sendQueue, cancel func()){
		"room":   func(q *sendQueue, _ func()) { go q.writeTo(mcpproxy.NewConn(nil, q.written, 0)) },
		"closed": func(q *sendQueue, _ func()) { q.close() },
		"done":   func(_ *sendQueue, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue()
			q.written.Dst = new(strings.Builder)
			ctx, cancel := context.WithCancel(t.Context())
			q.enqueue(ctx, frameOf(2*maxQueuedSize), nil)
			done := make(chan struct{})
			go func() {
				defer close(done)
				q.enqueue(ctx, frameOf(1), nil)
			}()
			select {
			case <-done:
				t.Fatal("there was room")
			case <-time.After(20 * time.Millisecond):
			}
			wake(q, cancel)
			<-done
			q.close()
			q.tryEnqueue(frameOf(1))
			if len(q.frames) > 1 {
				t.Errorf("%d frames are queued after the end", len(q.frames))
			}
		})
	}
}
