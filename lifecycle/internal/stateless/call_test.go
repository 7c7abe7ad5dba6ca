//go:build unix

package stateless

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func atMost(n int) func(*session.Session, *Options) {
	return func(_ *session.Session, o *Options) { o.MaxCalls = n }
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// TestQueue: no more than MaxCalls calls run at once. The others follow in their order,
// and cancelled ones never run.
func TestQueue(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, atMost(2))
	for i := range 8 {
		p.Send(sessiontest.CallOf(fmt.Sprint(i), "ask", fmt.Sprintf(`{"id":%d}`, 100+i)))
	}
	asks := []sessiontest.Said{p.Told("sampling/createMessage"), p.Told("sampling/createMessage")}
	p.Send(cancel("3"), cancel("7"), sessiontest.Legacy(`"p"`, "ping", "{}"))
	p.Answer(`"p"`) // the cancellations have been seen
	if n := f.Started("ask"); n != 2 {
		t.Errorf("%d processes", n)
	}
	for _, next := range []string{"2", "4", "5", "6", "", ""} {
		p.Send(sessiontest.ReplyTo(asks[0], "{}"))
		a := p.Take("an answer", func(s sessiontest.Said) bool { return s.Result != nil })
		if id := string(a.ID); id > next && next != "" {
			t.Errorf("%s was answered before %s was begun", id, next)
		}
		asks = asks[1:]
		if next != "" {
			asks = append(asks, p.Told("sampling/createMessage"))
			n := f.Started("ask") - 1
			sessiontest.Eventually(t, "the call is there", func() bool { return strings.Contains(f.Saw("ask", n), "tools/call") })
			sessiontest.Has(t, f.Saw("ask", n), `"id":`+next+`,"method":"tools/call"`)
		}
	}
	if n := f.Started("ask"); n != 6 {
		t.Errorf("%d processes", n)
	}
	p.Nothing()
}

// TestCancelledCalls: calls are cancelled in the queue, while their worker starts, and
// while it works. Each time the slot is free for the next call.
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, n int) string {
		if tool == "fail" {
			return "silent-boot"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.Greet()
	p.Send(sessiontest.CallOf("1", "never", "{}"))
	p.Told("notifications/message")
	p.Send(sessiontest.CallOf("2", "never", "{}"), cancel("2"), cancel("1"), sessiontest.CallOf("3", "fail", "{}"))
	sessiontest.Eventually(t, "the process is being started", func() bool { return strings.Contains(f.Saw("fail", 0), "initialize") })
	p.Send(cancel("3"), sessiontest.CallOf("4", "echo", "{}"))
	p.Answer("4")
	p.Send(cancel("4"), cancel("99"), cancel("{}"), cancel("0"))
	p.Ask(sessiontest.CallOf("5", "echo", "{}"))
	for _, proc := range append(f.Of("never"), f.Of("fail")...) {
		proc.Ended(t)
	}
	if stderr := p.Nothing(); strings.TrimSpace(strings.ReplaceAll(stderr, "working on it", "")) != "" || f.Started("never") != 1 {
		t.Errorf("stderr %q, %d processes", stderr, f.Started("never"))
	}
	sessiontest.Has(t, f.Saw("never", 0), cancel("1"))
}

// TestCancelledInitialize: an initialize must not be cancelled, and is answered.
func TestCancelledInitialize(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), nil)
	p.Send(sessiontest.ClientHello, cancel("0"))
	p.Answer("0")
	p.Nothing()
}

// TestCrash: a crash fails the call of that worker and no other.
func TestCrash(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "ask", "{}"), sessiontest.CallOf("2", "crash", "{}"), sessiontest.CallOf("3", "echo", "{}"))
	ask := p.Told("sampling/createMessage")
	l := p.Answer("2").Line
	sessiontest.IsFailure(t, l, "call crash")
	sessiontest.Has(t, l, "panic: out of luck")
	sessiontest.Has(t, p.Answer("3").Line, "tool=echo")
	p.Send(sessiontest.ReplyTo(ask, "{}"))
	sessiontest.Has(t, p.Answer("1").Line, "id=0 result={}")
	sessiontest.Has(t, p.Nothing(), "panic: out of luck")
}

// TestStartFails: a failed start, or a tool without a policy, fails the calls of that tool
// and no other.
func TestStartFails(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Errs = map[string]error{"crash": sessiontest.ErrExec}
	p := beginStateless(t, f, func(_ *session.Session, o *Options) {
		resolve := o.Tool
		o.Tool = func(name string, _ bool) (Tool, error) {
			if name == "fail" {
				return Tool{}, errors.New(`no directory "/x"`)
			}
			return resolve(name, false)
		}
	})
	p.Greet()
	p.Send(sessiontest.CallOf("1", "crash", "{}"), sessiontest.CallOf("2", "fail", "{}"), sessiontest.CallOf("3", "echo", "{}"))
	l := p.Answer("1").Line
	sessiontest.IsFailure(t, l, "exec crash")
	sessiontest.Has(t, l, "/no/such/program")
	l = p.Answer("2").Line
	sessiontest.Has(t, l, `"tool":"fail"`, "/x")
	sessiontest.Has(t, p.Answer("3").Line, "tool=echo")
	p.Nothing()
}

// TestWorkerStderr: stderr of a worker is shown while it works, not while it starts. A
// diagnosis names the tool and the place of its policy.
func TestWorkerStderr(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "stderr=starting stdout=banner" }
	p := beginStateless(t, f, nil)
	p.Greet()
	p.Send(sessiontest.CallOf("1", "never", "{}"))
	p.Told("notifications/message")
	p.Send(cancel("1"), sessiontest.CallOf("2", "fail", "{}"), sessiontest.CallOf("3", "crash", "{}"))
	l := p.Answer("2").Line
	sessiontest.Has(t, l, "mcp-jail grant test --last", "/secret")
	sessiontest.Has(t, p.Answer("3").Line, `"tool":"crash"`, "starting") // for whom it is of use
	stderr := p.Nothing()
	sessiontest.Has(t, stderr, "working on it", "panic: out of luck", "mcp-jail grant test --last")
	if n := strings.Count(stderr, `such as "banner"`); n != 1 {
		t.Errorf("the banner is told %d times: %q", n, stderr)
	}
	var diagnosed []string
	for _, d := range p.Record.Diagnoses {
		diagnosed = append(diagnosed, d.Tool)
	}
	if got := fmt.Sprint(diagnosed); got != "[fail crash]" && got != "[crash fail]" {
		t.Errorf("the record has %s", got)
	}
}

// TestCallWithoutName: a call without a tool's name does not run under the policy of the
// discovery worker.
func TestCallWithoutName(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "tools=,echo" }
	p := beginStateless(t, f, func(_ *session.Session, o *Options) { o.Declared = func() []string { return []string{""} } })
	p.Greet()
	sessiontest.Has(t, p.Ask(sessiontest.Legacy("1", "tools/list", "{}")).Line, `{"name":""}`)
	p.Send(sessiontest.CallOf("2", "", "{}"), sessiontest.CallOf("3", "echo", "{}"))
	sessiontest.Has(t, p.Answer("2").Line, `"code":-32602`, "without a name")
	p.Answer("3")
	p.Nothing()
	if n := f.Started(""); n != 1 {
		t.Errorf("%d discovery workers", n)
	}
}

// TestTimeoutWhileStarting: the answer to a call that times out while its worker starts
// does not blame the number of calls.
func TestTimeoutWhileStarting(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Servers["late"] = "silent" // its handshake is never answered
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		s.Profile.Call, o.MaxCalls = 700*time.Millisecond, 1
	})
	p.Greet()
	p.Send(sessiontest.CallOf("1", "late", `{}`))
	sessiontest.Eventually(t, "the process of the first call", func() bool { return f.Started("late") == 1 })
	l := p.Line()
	if !sessiontest.HasID(l, "1") || !strings.Contains(l, "still being started") || strings.Contains(l, "run at once") {
		t.Errorf("a call that was too late was answered with %q", l)
	}
	p.In.Close()
	p.Ended()
}

// TestInputRequired: the second round of a call goes to another worker, with the bytes
// that the first one returned.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), nil)
	p.Send(sessiontest.Modern("1", "tools/call", `"name":"input","arguments":{}`))
	var first struct {
		Result struct{ RequestState json.RawMessage }
	}
	l := p.Answer("1").Line
	if err := json.Unmarshal([]byte(l), &first); err != nil || first.Result.RequestState == nil {
		t.Fatalf("%q: %v", l, err)
	}
	state := string(first.Result.RequestState)
	p.Send(sessiontest.Modern("2", "tools/call", `"name":"input","arguments":{},"inputResponses":{"a":{"action":"accept"}},"requestState":`+state))
	l = p.Answer("2").Line
	sessiontest.Has(t, l, `"answers":{"a":{"action":"accept"}}`, `"state":`+state)
	var second struct{ Result struct{ Pid int } }
	json.Unmarshal([]byte(l), &second)
	if strings.HasPrefix(state, fmt.Sprintf("%q", fmt.Sprint(second.Result.Pid))[:2]) && strings.Contains(state, fmt.Sprint(second.Result.Pid)+"\\") {
		t.Error("both rounds had one process")
	}
	p.Nothing()
}

// TestCallTimeoutOfWorker: a call is answered when its time is over, and its worker is
// told.
func TestCallTimeoutOfWorker(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		s.Profile.Call = 8 * time.Second // a busy machine starts a process in less
		o.MaxCalls = 1
	})
	p.Greet()
	p.Ask(sessiontest.CallOf("3", "size", "{}"))
	p.Send(sessiontest.CallOf("1", "late", "{}"), sessiontest.CallOf("2", "never", "{}"))
	p.Told("notifications/message")
	// The second has waited as long: it may have got a process, or not.
	for id, tool := range map[string]string{"1": "late", "2": "never"} {
		l := p.Answer(id).Line
		sessiontest.IsFailure(t, l, "call "+tool)
		sessiontest.Has(t, l, "8 s")
	}
	sessiontest.Eventually(t, "the process answers all the same", func() bool { return strings.Contains(f.Saw("late", 0), "answered late") })
	sessiontest.Has(t, f.Saw("late", 0), `"requestId":1,"reason":"timed out"`)
	_, stderr, _ := p.Close()
	sessiontest.Has(t, stderr, "waiting for the answer")
	if strings.Contains(stderr, `to a call of tool "size"`) {
		t.Errorf("it waits for a call that was answered: %s", stderr)
	}
}

// TestQueueIsBounded: so many calls may wait for a slot, with so many bytes, and so many other requests
// for their answers. The first one may be larger; those beyond get an error.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	out, err := os.Create(t.TempDir() + "/out")
	testkit.Must(t, err)
	t.Cleanup(func() { out.Close() })
	s := idleSession(t, session.Session{Out: out, Err: out}, Options{MaxCalls: 1})
	s.dispatcher.table.running = 1
	queue := func(id string, size int) *clientRequest {
		f := mcpproxy.Parse([]byte(sessiontest.CallOf(id, strings.Repeat("t", size), "{}")))
		rq, ctx, ok := s.dispatcher.addRequest(t.Context(), f, nil)
		if !ok {
			t.Fatal("the id is taken")
		}
		s.dispatcher.queueCall(ctx, rq)
		return rq
	}
	first := queue("1", 4<<20)
	queue("2", 4<<20)
	if len(s.dispatcher.table.queue) != 1 || s.dispatcher.table.open[first.key()] == nil {
		t.Errorf("%d calls wait", len(s.dispatcher.table.queue))
	}
	if text, _ := os.ReadFile(out.Name()); !strings.Contains(string(text), `"id":2,"error"`) || !strings.Contains(string(text), "too many calls wait already") {
		t.Errorf("the second call was answered with %q", text)
	}
	waiting := func() int {
		s.dispatcher.table.mu.Lock()
		defer s.dispatcher.table.mu.Unlock()
		return len(s.dispatcher.table.queue)
	}
	s.dispatcher.respond(first, nil)
	sessiontest.Eventually(t, "a call that is over waits no longer", func() bool { return waiting() == 0 })
	for i := range maxWaiting + 1 {
		queue(strconv.Itoa(3+i), 1)
	}
	if n := waiting(); n != maxWaiting {
		t.Errorf("%d small calls wait, want %d", n, maxWaiting)
	}
	refused := func() int {
		text, _ := os.ReadFile(out.Name())
		return strings.Count(string(text), `\": too many requests wait`) // within JSON
	}
	other := func(id, params string) {
		s.dispatcher.dispatchMessage(t.Context(), mcpproxy.Parse([]byte(sessiontest.Legacy(id, "subscriptions/listen", params))), nil)
	}
	large := `{"x":"` + strings.Repeat("x", maxWaitingSize) + `"}`
	other(`"large"`, large) // these are never answered
	other(`"too large"`, "{}")
	if refused() != 1 {
		t.Error("a second request beside a large one was not refused, or the first was")
	}
	s.dispatcher.respond(s.dispatcher.table.open[`"large"`], nil)
	for i := range maxWaiting + 1 {
		other(fmt.Sprintf(`"r%d"`, i), "{}")
	}
	if n := s.dispatcher.table.waiting.n; n != maxWaiting || refused() != 2 {
		t.Errorf("%d requests that are no calls wait, want %d; %d were refused", n, maxWaiting, refused())
	}
}

// TestOddAnswers: a call whose process writes its answer over several lines gets an error that says so.
// What looks like an answer, and is none, does not take the place of the one that follows.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range testkit.Table[struct{ tool, arguments, want string }](t, "odd-answers.txt") {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			t.Parallel()
			f := sessiontest.NewShop()
			f.Options = func(string, int) string { return "tools=" + c.tool }
			p := beginStateless(t, f, nil)
			p.Greet()
			p.Send(sessiontest.CallOf("3", c.tool, c.arguments))
			line := p.Line()
			if c.want == "" {
				if !strings.Contains(line, `"result"`) {
					t.Errorf("got %q", line)
				}
			} else if got := sessiontest.FailureOf(t, line).String(); got != "3 -32603 call "+c.tool || !strings.Contains(line, c.want) {
				t.Errorf("got %q", line)
			}
			p.Nothing()
		})
	}
}
