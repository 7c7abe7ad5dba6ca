//go:build unix

package stateless

import (
	"encoding/json"
	"fmt"
	"strings"
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
		running.client.EndMessages()
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
