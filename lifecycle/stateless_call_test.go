//go:build unix

package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
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

// TestQueue: no more calls run at once than may, the others follow in the order in
// which they came, and those that are cancelled never run.
func TestQueue(t *testing.T) {
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

// TestCancelledCalls: before there is a process, while it starts, and while it works. Each
// time the place is free for the next one.
func TestCancelledCalls(t *testing.T) {
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

// TestCancelledInitialize: it must not be, and is answered.
func TestCancelledInitialize(t *testing.T) {
	p := beginStateless(t, newShop(), nil)
	p.send(clientHello, cancel("0"))
	p.answer("0")
	p.nothing()
}

// TestCrash: a crash is the failure of its own call.
func TestCrash(t *testing.T) {
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

// TestMute: a process that has closed its stdout answers nothing any more, and nobody
// waits for it.
func TestMute(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, atMost(1))
	p.greet()
	p.send(callOf("1", "mute", "{}"), callOf("2", "echo", "{}"))
	if got := failureOf(t, p.answer("1").line).String(); !strings.HasSuffix(got, "call mute") {
		t.Error(got)
	}
	has(t, p.answer("2").line, "tool=echo")
	has(t, p.nothing(), "has closed its stdout")
}

// TestStartFails: what cannot be started, or has no policy, fails the calls of that
// tool and of no other.
func TestStartFails(t *testing.T) {
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

// TestNothingStarts: the exit status tells when no process could be started at all.
func TestNothingStarts(t *testing.T) {
	f := newShop()
	f.errs = map[string]error{"": errExec}
	p := beginStateless(t, f, nil)
	for _, id := range []string{"0", "1"} {
		p.send(helloFrom(id, "{}"))
		if got := failureOf(t, p.answer(id).line).String(); !strings.HasSuffix(got, "exec") {
			t.Error(got)
		}
	}
	if rest, _, status := p.close(); status != 1 || rest != "" {
		t.Errorf("status %d, %q", status, rest)
	}
}

// TestTold: what a tool's process says on stderr while it works is shown, what it says
// while it starts is not; a failure says which tool, and where its policy stands.
func TestTold(t *testing.T) {
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
	if n := strings.Count(stderr, "such as banner"); n != 1 {
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

// TestGone: when the client is gone in the middle of 8 calls, so is everything else.
func TestGone(t *testing.T) {
	for name, leave := range map[string]func(*play){
		"ctx":     func(p *play) { p.cancel() },
		"SIGTERM": func(p *play) { syscall.Kill(syscall.Getpid(), syscall.SIGTERM) },
		"stdout": func(p *play) {
			p.out.Close()
			// A process that is being forked has the other end of it for a moment.
			eventually(p.t, "it is noticed", func() bool {
				p.in.WriteString(legacy("9", "ping", "{}") + "\n")
				return p.session.client.gone.isSet()
			})
		},
		"stdin": func(p *play) { p.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := newShop()
			p := beginStateless(t, f, func(s *Session, o *Stateless) {
				o.MaxCalls = 6 // the others wait
				o.Warm = func(string) int { return 1 }
				s.times.term = 300 * time.Millisecond
			})
			p.greet()
			p.send(legacy("-1", "tools/list", "{}"))
			p.answer("-1")
			for i := range 8 {
				p.send(callOf(fmt.Sprint(1+i), "never", "{}"))
			}
			for range 6 {
				p.told("notifications/message")
			}
			leave(p)
			if name == "stdin" {
				for i := range 8 {
					has(t, p.answer(fmt.Sprint(1+i)).line, "the client closed its end")
				}
			}
			status, _ := p.ended()
			if want := map[string]int{"ctx": 143, "SIGTERM": 143}[name]; status != want {
				t.Errorf("status %d", status)
			}
			for _, tool := range append(strings.Split(allTools, ","), "") {
				for _, proc := range f.of(tool) {
					proc.ended(t)
				}
			}
		})
	}
}

// TestGoneStubborn: a process that has no reason to end is not waited for when the
// client has left.
func TestGoneStubborn(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.exitGrace = time.Hour })
	p.greet()
	p.send(callOf("1", "deaf", "{}"), callOf("2", "deaf", "{}"))
	for n := range 2 {
		eventually(t, "it has begun", func() bool { return strings.Contains(f.saw("deaf", n), "deaf\n") })
	}
	p.send(cancel("1"))
	p.cancel()
	if status, _ := p.ended(); status != 143 {
		t.Errorf("status %d", status)
	}
	for n := range 2 {
		f.of("deaf")[n].ended(t)
	}
}

// TestClosedAtOnce: who writes calls and closes gets all of the answers.
func TestClosedAtOnce(t *testing.T) {
	p := beginStateless(t, newShop(), atMost(3))
	p.send(clientHello, initialized)
	for i := range 9 {
		p.send(callOf(fmt.Sprint(1+i), "echo", "{}"))
	}
	p.send(legacy("10", "tools/list", "{}"), legacy("11", "resources/read", `{}`))
	p.in.Close()
	for i := range 12 {
		p.answer(fmt.Sprint(i))
	}
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestOutbox: who must not wait does not, and who may is let go in the end.
func TestOutbox(t *testing.T) {
	var o sendQueue
	o.init(&countingWriter{})
	o.enqueue(t.Context(), &mcpproxy.Frame{Size: maxSendQueue + 1}, nil) // alone, it may be larger
	if o.tryEnqueue(&mcpproxy.Frame{Size: 1}) {
		t.Error("there is room for more")
	}
	done := make(chan struct{})
	go func() {
		o.enqueue(t.Context(), &mcpproxy.Frame{Size: 1}, nil)
		close(done)
	}()
	select {
	case <-done:
		t.Error("put did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	o.close()
	<-done
	if len(o.frames) != 1 || !o.tryEnqueue(&mcpproxy.Frame{Size: 1}) {
		t.Error("something is queued after the end")
	}
}

// TestDeafProcess: one that reads nothing keeps nobody else from working, whatever it
// is sent, and its call ends like any other.
func TestDeafProcess(t *testing.T) {
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "deaf", "{}"))
	eventually(t, "it has begun", func() bool { return strings.Contains(f.saw("deaf", 0), "deaf\n") })
	for range 3 {
		p.send(`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 3<<20) + `"}`)
	}
	p.send(callOf("2", "echo", "{}"))
	p.answer("2")
	p.send(cancel("1"), legacy("3", "ping", "{}"))
	p.answer("3")
	f.of("deaf")[0].ended(t)
	p.nothing()
}
