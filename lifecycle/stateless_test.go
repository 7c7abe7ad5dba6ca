//go:build unix

package lifecycle

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func newShop() *fleet { return &fleet{servers: map[string]string{"": "shop"}} }

// TestFreshProcessForEachCall: each call has a worker that has seen no other call, and the
// answer keeps the client's id and bytes.
func TestFreshProcessForEachCall(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	pids := map[string]bool{}
	for i := range 5 {
		id := fmt.Sprint(9007199254740993 + i)
		p.send(callOf(id, "echo", `{"n":9007199254740993}`))
		l := p.line()
		var m struct {
			ID     json.RawMessage
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil || string(m.ID) != id || len(m.Result.Content) != 1 {
			t.Fatalf("%q: %v", l, err)
		}
		text := m.Result.Content[0].Text
		if !strings.Contains(text, "calls=1") || !strings.Contains(text, "9007199254740993") || !strings.Contains(text, "tool=echo") {
			t.Errorf("the process has said %q", text)
		}
		pids[text] = true
	}
	if len(pids) != 5 || f.started("echo") != 5 {
		t.Errorf("%d processes for 5 calls, %d started", len(pids), f.started("echo"))
	}
	p.in.Close()
	if status, stderr := p.ended(); status != 0 || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestNothingStarts: the exit status says that no process could be started at all.
func TestNothingStarts(t *testing.T) {
	t.Parallel()
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

// TestClientLeavesDuringCalls: when the client leaves during 8 calls, every process ends.
// It sends SIGTERM to this process, so it must not run beside other tests.
func TestClientLeavesDuringCalls(t *testing.T) {
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

// TestShutdownDoesNotWait: when the client has left, a worker that does not end by itself
// is not waited for.
func TestShutdownDoesNotWait(t *testing.T) {
	t.Parallel()
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

// TestClosedAtOnce: a client that writes its calls and closes stdin gets all answers.
func TestClosedAtOnce(t *testing.T) {
	t.Parallel()
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

// TestClientLeavesUnread: a client that has not read its answers can leave.
func TestClientLeavesUnread(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*play){
		"ctx":   func(p *play) { p.cancel() },
		"stdin": func(p *play) { p.in.Close() },
	} {
		for about, open := range map[string]string{
			"call":   callOf("2", "never", "{}"),
			"batch":  "[" + callOf("1", "echo", "{}") + "," + callOf("2", "never", "{}") + "]",
			"listen": legacy("2", "subscriptions/listen", "{}"),
		} {
			t.Run(name+" "+about, func(t *testing.T) {
				t.Parallel()
				f := newShop()
				p := beginStateless(t, f, func(s *Session, _ *Stateless) {
					s.times.term, s.times.drainTotal = 200*time.Millisecond, 200*time.Millisecond
				})
				p.greet()
				p.send(open)
				if about == "listen" {
					p.told("notifications/subscriptions/acknowledged")
				} else {
					p.told("notifications/message")
				}
				if about == "batch" {
					eventually(t, "the batch has an answer", func() bool { return len(f.of("echo")) == 1 && isClosed(f.of("echo")[0].done) })
				}
				p.send(callOf("3", "big", "1000000"))
				eventually(t, "there is something to read", func() bool { return unreadBytes(p.out) > 0 })
				leave(p)
				select {
				case <-p.status:
				case <-time.After(testkit.Patience):
					p.out.Close()
					t.Error("the session does not end")
				}
			})
		}
	}
}

// idleSession returns a session that reads no client, for tests of single methods.
func idleSession(t *testing.T, s Session, o Stateless) *statelessSession {
	session := newStatelessSession(s, o)
	t.Cleanup(func() {
		close(session.client.finished)
		<-session.client.saved
		session.client.stderr.close(time.Second, time.Second)
	})
	return session
}

// denying is a process whose jail has refused the same many times.
type denying struct {
	Process
	target string
}

func (denying) HostFailures() []policy.HostFailure { return nil }

func (d denying) Denials() (all []policy.Denial) {
	for range 600 {
		all = append(all, policy.Denial{Axis: policy.AxisFs, Operation: "open", Target: d.target, Time: time.Now()})
	}
	return all
}

// TestPastDenialsAreBounded: a session keeps the last 1000 denials of workers that are
// gone.
func TestPastDenialsAreBounded(t *testing.T) {
	t.Parallel()
	s := idleSession(t, Session{}, Stateless{})
	for _, target := range []string{"/first", "/second", "/third"} {
		w := &worker{session: s, client: s.client}
		w.server.init(s.client, s.client.config.Profile)
		w.server.processes.set(denying{target: target})
		s.removeWorker(w)
	}
	count := map[string]int{}
	for _, d := range s.pastDenials {
		count[d.Target]++
	}
	if len(s.pastDenials) != 1000 || count["/third"] != 600 || count["/second"] != 400 {
		t.Errorf("%d denials are remembered: %v", len(s.pastDenials), count)
	}
}
