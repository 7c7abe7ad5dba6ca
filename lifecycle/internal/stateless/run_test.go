//go:build unix

package stateless

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestFreshProcessForEachCall: each call has a worker that has seen no other call, and the
// answer keeps the client's id and bytes.
func TestFreshProcessForEachCall(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	pids := map[string]bool{}
	for i := range 5 {
		id := fmt.Sprint(9007199254740993 + i)
		p.Send(sessiontest.CallOf(id, "echo", `{"n":9007199254740993}`))
		l := p.Line()
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
	if len(pids) != 5 || f.Started("echo") != 5 {
		t.Errorf("%d processes for 5 calls, %d started", len(pids), f.Started("echo"))
	}
	p.In.Close()
	if status, stderr := p.Ended(); status != 0 || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestNothingStarts: the exit status says that no process could be started at all.
func TestNothingStarts(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Errs = map[string]error{"": sessiontest.ErrExec}
	p := beginStateless(t, f, nil)
	for _, id := range []string{"0", "1"} {
		sessiontest.IsFailure(t, p.Ask(sessiontest.HelloFrom(id, "{}")).Line, "exec")
	}
	if rest, _, status := p.Close(); status != 1 || rest != "" {
		t.Errorf("status %d, %q", status, rest)
	}
}

// TestClientLeavesDuringCalls: when the client leaves during 8 calls, every process ends.
// It sends SIGTERM to this process, so it must not run beside other tests.
func TestClientLeavesDuringCalls(t *testing.T) {
	for name, leave := range map[string]func(*statelessPlay){
		"ctx":     func(p *statelessPlay) { p.Cancel() },
		"SIGTERM": func(p *statelessPlay) { syscall.Kill(syscall.Getpid(), syscall.SIGTERM) },
		"stdout": func(p *statelessPlay) {
			p.Out.Close()
			// A process that is being forked has the other end of it for a moment.
			sessiontest.Eventually(p.T, "it is noticed", func() bool {
				p.In.WriteString(sessiontest.Legacy("9", "ping", "{}") + "\n")
				return p.session.client.Gone.IsSet()
			})
		},
		"stdin": func(p *statelessPlay) { p.In.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := sessiontest.NewShop()
			p := beginStateless(t, f, func(s *session.Session, o *Options) {
				o.MaxCalls = 6 // the others wait
				o.Warm = func(string) int { return 1 }
				session.TimesOf(s).Term = 300 * time.Millisecond
			})
			p.Greet()
			p.Ask(sessiontest.Legacy("-1", "tools/list", "{}"))
			for i := range 8 {
				p.Send(sessiontest.CallOf(fmt.Sprint(1+i), "never", "{}"))
			}
			for range 6 {
				p.Told("notifications/message")
			}
			leave(p)
			if name == "stdin" {
				for i := range 8 {
					sessiontest.Has(t, p.Answer(fmt.Sprint(1+i)).Line, "the client closed its end")
				}
			}
			status, _ := p.Ended()
			if want := map[string]int{"ctx": 143, "SIGTERM": 143}[name]; status != want {
				t.Errorf("status %d", status)
			}
			for _, tool := range append(strings.Split(sessiontest.AllTools, ","), "") {
				for _, proc := range f.Of(tool) {
					proc.Ended(t)
				}
			}
		})
	}
}

// TestShutdownDoesNotWait: when the client has left, a worker that does not end by itself
// is not waited for.
func TestShutdownDoesNotWait(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(s *session.Session, _ *Options) { session.TimesOf(s).ExitGrace = time.Hour })
	p.Send(sessiontest.CallOf("1", "deaf", "{}"), sessiontest.CallOf("2", "deaf", "{}"))
	for n := range 2 {
		sessiontest.Eventually(t, "it has begun", func() bool { return strings.Contains(f.Saw("deaf", n), "deaf\n") })
	}
	p.Send(cancel("1"))
	p.Cancel()
	if status, _ := p.Ended(); status != 143 {
		t.Errorf("status %d", status)
	}
	for n := range 2 {
		f.Of("deaf")[n].Ended(t)
	}
}

// TestClosedAtOnce: a client that writes its calls and closes stdin gets all answers.
func TestClosedAtOnce(t *testing.T) {
	t.Parallel()
	p := beginStateless(t, sessiontest.NewShop(), atMost(3))
	p.Send(sessiontest.ClientHello, sessiontest.Initialized)
	for i := range 9 {
		p.Send(sessiontest.CallOf(fmt.Sprint(1+i), "echo", "{}"))
	}
	p.Send(sessiontest.Legacy("10", "tools/list", "{}"), sessiontest.Legacy("11", "resources/read", `{}`))
	p.In.Close()
	for i := range 12 {
		p.Answer(fmt.Sprint(i))
	}
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestClientLeavesUnread: a client that has not read its answers can leave.
func TestClientLeavesUnread(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*statelessPlay){
		"ctx":   func(p *statelessPlay) { p.Cancel() },
		"stdin": func(p *statelessPlay) { p.In.Close() },
	} {
		for about, open := range map[string]string{
			"call":   sessiontest.CallOf("2", "never", "{}"),
			"batch":  "[" + sessiontest.CallOf("1", "echo", "{}") + "," + sessiontest.CallOf("2", "never", "{}") + "]",
			"listen": sessiontest.Legacy("2", "subscriptions/listen", "{}"),
		} {
			t.Run(name+" "+about, func(t *testing.T) {
				t.Parallel()
				f := sessiontest.NewShop()
				p := beginStateless(t, f, func(s *session.Session, _ *Options) {
					session.TimesOf(s).Term, session.TimesOf(s).DrainTotal = 200*time.Millisecond, 200*time.Millisecond
				})
				p.Greet()
				p.Send(open)
				if about == "listen" {
					p.Told("notifications/subscriptions/acknowledged")
				} else {
					p.Told("notifications/message")
				}
				if about == "batch" {
					sessiontest.Eventually(t, "the batch has an answer", func() bool { return len(f.Of("echo")) == 1 && session.IsClosed(f.Of("echo")[0].Done()) })
				}
				p.Send(sessiontest.CallOf("3", "big", "1000000"))
				sessiontest.Eventually(t, "there is something to read", func() bool { return streams.UnreadBytes(p.Out) > 0 })
				leave(p)
				select {
				case <-p.Status:
				case <-time.After(testkit.Patience):
					p.Out.Close()
					t.Error("the session does not end")
				}
			})
		}
	}
}

// idleSession returns a session that reads no client, for tests of single methods.
func idleSession(t *testing.T, s session.Session, o Options) *statelessSession {
	running := newStatelessSession(s, o)
	t.Cleanup(func() {
		close(running.client.Record.Finished)
		<-running.client.Record.Saved
		running.client.Stderr.Close(time.Second, time.Second)
	})
	return running
}

// denying is a process whose jail has refused the same many times.
type denying struct {
	session.Process
	target string
}

func (denying) HostFailures() []policy.HostFailure { return nil }

func (denying) Unanswered(time.Time) []policy.Unanswered { return nil }

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
	s := idleSession(t, session.Session{}, Options{})
	for _, target := range []string{"/first", "/second", "/third"} {
		w := &worker{session: s, client: s.client}
		w.server.Init(s.client, s.client.Config.Profile)
		w.server.Processes.Set(denying{target: target})
		s.pool.removeWorker(w)
	}
	count := map[string]int{}
	for _, d := range s.pool.pastDenials {
		count[d.Target]++
	}
	if len(s.pool.pastDenials) != 1000 || count["/third"] != 600 || count["/second"] != 400 {
		t.Errorf("%d denials are remembered: %v", len(s.pool.pastDenials), count)
	}
}

func TestMain(m *testing.M) { sessiontest.MainOf(m, nil) }

// statelessPlay is a session under test, seen from the client and from inside.
type statelessPlay struct {
	*sessiontest.Play
	session *statelessSession
}

// beginStateless starts a session each of whose calls has a process of its own.
// Everything of it is over when the test ends, or the test fails.
func beginStateless(t testing.TB, f *sessiontest.Fleet, change func(*session.Session, *Options)) *statelessPlay {
	t.Helper()
	p, s := sessiontest.NewFleetPlay(t, f)
	o := Options{Version: "test", Tool: func(name string, _ bool) (Tool, error) { return Tool{Profile: sessiontest.ProfileOf(&s, name)}, nil }}
	if change != nil {
		change(&s, &o)
	}
	var running *statelessSession
	p.Labelled(func() { running = newStatelessSession(s, o) })
	t.Cleanup(func() { // after the session is over
		if t.Failed() {
			return
		}
		table, asked, pool := &running.dispatcher.table, &running.serverRequests, &running.pool
		for _, mu := range []*sync.Mutex{&table.mu, &asked.mu, &pool.mu} {
			mu.Lock()
			defer mu.Unlock()
		}
		if left := fmt.Sprint(len(table.open), len(table.queue), table.waiting, table.answered, len(asked.open), len(pool.workers), len(pool.offers)); left != "0 0 {0 0} {0 0} 0 0 0" {
			t.Error("the tables are not empty: " + left)
		}
	})
	p.RunFleet(f, s, running.run)
	return &statelessPlay{p, running}
}

// greeted begins a session with the servers of a shop, and greets it.
func greeted(t testing.TB, change func(*session.Session, *Options)) (*sessiontest.Fleet, *statelessPlay) {
	t.Helper()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, change)
	p.Greet()
	return f, p
}

// pooled waits until something holds of the pool.
func (p *statelessPlay) pooled(condition string, holds func(*pool) bool) {
	p.T.Helper()
	sessiontest.Eventually(p.T, condition, func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		return holds(&p.session.pool)
	})
}

// warmReady returns the warm workers that a call could get. The caller holds mu.
func (p *pool) warmReady() (all []*worker) {
	for _, w := range p.offers {
		if w.tool != "" && w.uses == 0 {
			all = append(all, w)
		}
	}
	return all
}

// TestWorkerClosesStdout: a worker that has closed its stdout can answer nothing, and its
// call fails.
func TestWorkerClosesStdout(t *testing.T) {
	t.Parallel()
	_, p := greeted(t, atMost(1))
	p.Send(sessiontest.CallOf("1", "mute", "{}"), sessiontest.CallOf("2", "echo", "{}"))
	sessiontest.IsFailure(t, p.Answer("1").Line, "call mute")
	sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
	sessiontest.Has(t, p.Nothing(), "has closed its stdout")
}

// TestWorkerAsksWithoutReading: a worker that sends requests and reads no answers is
// killed, and its slot is free again.
func TestWorkerAsksWithoutReading(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, _ int) string {
		if tool == "never" {
			return "stuff"
		}
		return ""
	}
	p := beginStateless(t, f, atMost(1))
	p.Greet()
	p.Send(sessiontest.CallOf("1", "never", "{}"), sessiontest.CallOf("2", "echo", "{}"))
	a := p.Answer("1")
	if a.Error == nil || strings.Contains(a.Line, "memory_mb") {
		t.Error(a.Line)
	}
	sessiontest.Has(t, a.Line, "mcp-jail ended it: it did not read the answers")
	sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
	sessiontest.Has(t, p.Nothing(), `tool "never" does not read the answers to its requests; it was ended`)
}

// TestNoLineEnd: a last line without a newline reaches a worker that waits for one, and
// the worker's last answer reaches the client.
func TestNoLineEnd(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Servers["last"] = "unended"
	p := beginStateless(t, f, nil)
	p.Greet()
	p.Send(sessiontest.CallOf("1", "last", "{}"))
	p.Answer("1") // which is read as a line
	p.Ask(sessiontest.CallOf("2", "echo", "{}"))
	p.In.WriteString(sessiontest.CallOf("3", "echo", "{}"))
	p.In.Close()
	sessiontest.Has(t, p.Answer("3").Line, "tool=echo")
	p.Nothing()
}

// TestWorkerThatDoesNotRead: a worker that reads nothing delays no other, and its call can
// be cancelled.
func TestWorkerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "deaf", "{}"))
	sessiontest.Eventually(t, "it has begun", func() bool { return strings.Contains(f.Saw("deaf", 0), "deaf\n") })
	for range 3 {
		p.Send(`{"jsonrpc":"2.0","method":"notifications/x","params":"` + strings.Repeat("x", 3<<20) + `"}`)
	}
	p.Ask(sessiontest.CallOf("2", "echo", "{}"))
	p.Send(cancel("1"), sessiontest.Legacy("3", "ping", "{}"))
	p.Answer("3")
	f.Of("deaf")[0].Ended(t)
	p.Nothing()
}
