//go:build unix

package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func atMost(n int) func(*Session, *Stateless) {
	return func(_ *Session, o *Stateless) { o.MaxCalls = n }
}

func cancel(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
}

// TestQueue: no more than MaxCalls calls run at once. The others follow in their order,
// and cancelled ones never run.
func TestQueue(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, atMost(2))
	p.greet()
	for i := range 8 {
		p.send(callOf(fmt.Sprint(i), "ask", fmt.Sprintf(`{"id":%d}`, 100+i)))
	}
	asks := []said{p.told("sampling/createMessage"), p.told("sampling/createMessage")}
	p.send(cancel("3"), cancel("7"), legacy(`"p"`, "ping", "{}"))
	p.answer(`"p"`) // the cancellations have been seen
	if n := f.started("ask"); n != 2 {
		t.Errorf("%d processes", n)
	}
	for _, next := range []string{"2", "4", "5", "6", "", ""} {
		p.send(replyTo(asks[0], "{}"))
		a := p.take("an answer", func(s said) bool { return s.Result != nil })
		if id := string(a.ID); id > next && next != "" {
			t.Errorf("%s was answered before %s was begun", id, next)
		}
		asks = asks[1:]
		if next != "" {
			asks = append(asks, p.told("sampling/createMessage"))
			n := f.started("ask") - 1
			eventually(t, "the call is there", func() bool { return strings.Contains(f.saw("ask", n), "tools/call") })
			has(t, f.saw("ask", n), `"id":`+next+`,"method":"tools/call"`)
		}
	}
	if n := f.started("ask"); n != 6 {
		t.Errorf("%d processes", n)
	}
	p.nothing()
}

// TestCancelledCalls: calls are cancelled in the queue, while their worker starts, and
// while it works. Each time the slot is free for the next call.
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(tool string, n int) string {
		if tool == "fail" {
			return "silent-boot"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.greet()
	p.send(callOf("1", "never", "{}"))
	p.told("notifications/message")
	p.send(callOf("2", "never", "{}"), cancel("2"), cancel("1"), callOf("3", "fail", "{}"))
	eventually(t, "the process is being started", func() bool { return strings.Contains(f.saw("fail", 0), "initialize") })
	p.send(cancel("3"), callOf("4", "echo", "{}"))
	p.answer("4")
	p.send(cancel("4"), cancel("99"), cancel("{}"), cancel("0"))
	p.send(callOf("5", "echo", "{}"))
	p.answer("5")
	for _, proc := range append(f.of("never"), f.of("fail")...) {
		proc.ended(t)
	}
	if stderr := p.nothing(); strings.TrimSpace(strings.ReplaceAll(stderr, "working on it", "")) != "" || f.started("never") != 1 {
		t.Errorf("stderr %q, %d processes", stderr, f.started("never"))
	}
	has(t, f.saw("never", 0), cancel("1"))
}

// TestCancelledInitialize: an initialize must not be cancelled, and is answered.
func TestCancelledInitialize(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.send(clientHello, cancel("0"))
	p.answer("0")
	p.nothing()
}

// TestCrash: a crash fails the call of that worker and no other.
func TestCrash(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, newShop(), nil)
	p.greet()
	p.send(callOf("1", "ask", "{}"), callOf("2", "crash", "{}"), callOf("3", "echo", "{}"))
	ask := p.told("sampling/createMessage")
	l := p.answer("2").line
	if got := failureOf(t, l).String(); !strings.HasSuffix(got, "call crash") {
		t.Error(got)
	}
	has(t, l, "panic: out of luck")
	has(t, p.answer("3").line, "tool=echo")
	p.send(replyTo(ask, "{}"))
	has(t, p.answer("1").line, "id=0 result={}")
	has(t, p.nothing(), "panic: out of luck")
}

// TestStartFails: a failed start, or a tool without a policy, fails the calls of that tool
// and no other.
func TestStartFails(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.errs = map[string]error{"crash": errExec}
	p := beginStateless(t, f, func(_ *Session, o *Stateless) {
		resolve := o.Tool
		o.Tool = func(name string) (Tool, error) {
			if name == "fail" {
				return Tool{}, errors.New(`no directory "/x"`)
			}
			return resolve(name)
		}
	})
	p.greet()
	p.send(callOf("1", "crash", "{}"), callOf("2", "fail", "{}"), callOf("3", "echo", "{}"))
	l := p.answer("1").line
	if got := failureOf(t, l).String(); !strings.HasSuffix(got, "exec crash") {
		t.Error(got)
	}
	has(t, l, "/no/such/program")
	l = p.answer("2").line
	has(t, l, `"tool":"fail"`, "/x")
	has(t, p.answer("3").line, "tool=echo")
	p.nothing()
}

// TestWorkerStderr: stderr of a worker is shown while it works, not while it starts. A
// diagnosis names the tool and the place of its policy.
func TestWorkerStderr(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(string, int) string { return "stderr=starting stdout=banner" }
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "never", "{}"))
	p.told("notifications/message")
	p.send(cancel("1"), callOf("2", "fail", "{}"), callOf("3", "crash", "{}"))
	l := p.answer("2").line
	has(t, l, "[servers.test.tools.fail", "/secret")
	has(t, p.answer("3").line, `"tool":"crash"`, "starting") // for whom it is of use
	stderr := p.nothing()
	has(t, stderr, "working on it", "panic: out of luck", "[servers.test.tools.fail")
	if n := strings.Count(stderr, `such as "banner"`); n != 1 {
		t.Errorf("the banner is told %d times: %q", n, stderr)
	}
	var diagnosed []string
	for _, d := range p.record.Diagnoses {
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
	f := newShop()
	f.options = func(string, int) string { return "tools=,echo" }
	p := beginStateless(t, f, func(_ *Session, o *Stateless) { o.Declared = func() []string { return []string{""} } })
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	has(t, p.answer("1").line, `{"name":""}`)
	p.send(callOf("2", "", "{}"), callOf("3", "echo", "{}"))
	has(t, p.answer("2").line, `"code":-32602`, "without a name")
	p.answer("3")
	p.nothing()
	if n := f.started(""); n != 1 {
		t.Errorf("%d discovery workers", n)
	}
}

// TestTimeoutWhileStarting: the answer to a call that times out while its worker starts
// does not blame the number of calls.
func TestTimeoutWhileStarting(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.servers["late"] = "silent" // its handshake is never answered
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		s.Profile.Call, o.MaxCalls = 700*time.Millisecond, 1
	})
	p.greet()
	p.send(callOf("1", "late", `{}`))
	eventually(t, "the process of the first call", func() bool { return f.started("late") == 1 })
	l := p.line()
	if !hasID(l, "1") || !strings.Contains(l, "still being started") || strings.Contains(l, "max_concurrent_calls") {
		t.Errorf("a call that was too late was answered with %q", l)
	}
	p.in.Close()
	p.ended()
}

// TestInputRequired: the second round of a call goes to another worker, with the bytes
// that the first one returned.
func TestInputRequired(t *testing.T) {
	t.Parallel()
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

// TestCallTimeoutOfWorker: a call is answered when its time is over, and its worker is
// told.
func TestCallTimeoutOfWorker(t *testing.T) {
	t.Parallel()
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

// TestQueueIsBoundedInMemory: calls that wait for a slot may take half of the memory of the session.
// The first one may be larger; calls beyond get an error.
func TestQueueIsBoundedInMemory(t *testing.T) {
	t.Parallel()
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	s := idleSession(t, Session{Out: out, Err: out}, Stateless{MaxCalls: 1})
	s.running = 1
	queue := func(id string, size int) *clientRequest {
		f := mcpproxy.Parse([]byte(callOf(id, strings.Repeat("t", size), "{}")))
		rq, ctx, ok := s.addRequest(t.Context(), f, nil)
		if !ok {
			t.Fatal("the id is taken")
		}
		s.queueCall(ctx, rq)
		return rq
	}
	first := queue("1", 4<<20)
	queue("2", 4<<20)
	if len(s.queue) != 1 || s.requests[first.key()] == nil {
		t.Errorf("%d calls wait", len(s.queue))
	}
	if text, _ := os.ReadFile(out.Name()); !strings.Contains(string(text), `"id":2,"error"`) || !strings.Contains(string(text), "too many calls wait already") {
		t.Errorf("the second call was answered with %q", text)
	}
	s.dropRequest(first)
	const most = mcpproxy.Memory / 2 / requestCost
	for i := range most {
		queue(strconv.Itoa(3+i), 1)
	}
	if n := len(s.queue); n >= most || n < most/2 {
		t.Errorf("%d small calls wait, want some less than %d", n, most)
	}
	other := mcpproxy.Parse([]byte(`{"jsonrpc":"2.0","id":"r","method":"resources/read"}`))
	s.dispatchMessage(t.Context(), other, nil)
	if text, _ := os.ReadFile(out.Name()); !strings.Contains(string(text), `"id":"r","error"`) || !strings.Contains(string(text), "too many requests wait") {
		t.Error("a request that is no call was not refused")
	}
}
