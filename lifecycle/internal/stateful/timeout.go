package stateful

import (
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (s *statefulSession) watchCallTimes() (stop func()) {
	limit := s.server.Profile.Call
	if limit <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	s.client.Tasks.Go(func() {
		ticker := time.NewTicker(min(max(limit/20, 5*time.Millisecond), time.Second))
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				s.warnSlow(now)
				s.answerTimedOut(now)
			case <-quit:
				return
			}
		}
	})
	return func() { close(quit) }
}

func (s *statefulSession) warnSlow(now time.Time) {
	limit := s.server.Profile.Call
	s.client.Proxy.Requests.Each(func(c *mcpproxy.Call) {
		if waited := now.Sub(c.Start); !c.Noted && string(c.Method) == "tools/call" && 2*waited >= limit && waited < limit {
			c.Noted = true
			s.client.Stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", s.server.Profile.Server, c.Tool, limit))
		}
	})
}

func (s *statefulSession) answerTimedOut(now time.Time) {
	limit := s.server.Profile.Call
	calls := s.calls.claim(func(c *mcpproxy.Call) bool {
		return string(c.Method) == "tools/call" && now.Sub(c.Start) >= limit
	})
	if len(calls) == 0 {
		return
	}
	s.calls.answer(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		ev := s.server.Evidence(diagnostics.StageCall, c, c.Start)
		ev.Timeout = limit
		return s.server.DiagnoseCall(c, ev)
	})
	for i := range calls {
		s.server.SendAsync(s.upstream.server.Load(), session.Cancellation(calls[i].ID, "timed out"))
	}
}

// startupTimer measures how long a server takes to its first answer. It starts with the
// first request and not with the process, since a server may be silent until it is asked.
// An error to server/discover does not count as the first answer, but stops the timer until the next
// request.
type startupTimer struct {
	session      *statefulSession
	slow, silent <-chan time.Time
	since        time.Time
	held         int // how often sayWaiting has waited for the discover
}

func (t *startupTimer) arm() {
	if t.silent != nil || t.slow != nil || t.session.answered.IsSet() || t.session.calls.count() == 0 {
		return
	}
	t.since = time.Now()
	t.slow = time.After(t.session.client.Times.SlowNote)
	if limit := t.session.server.Profile.Startup; limit > 0 {
		t.silent = time.After(limit)
	}
}

func (t *startupTimer) disarm() { t.slow, t.silent = nil, nil }

func (t *startupTimer) restart() {
	t.disarm()
	t.arm()
}

func (t *startupTimer) sayWaiting() {
	s := t.session
	// The server may still turn out to be one that ignores the discover.
	if t.held < 2 && s.upstream.guard.awaitsAnswer() {
		t.held++
		t.slow = time.After(s.client.Times.SlowNote)
		return
	}
	limit := ""
	if s.server.Profile.Startup > 0 {
		limit = fmt.Sprintf(", for at most %v", s.server.Profile.Startup)
	}
	s.client.Stderr.SayLine(fmt.Sprintf("waiting for the first answer of server %q%s; %v so far", s.server.Profile.Server, limit, time.Since(t.since).Round(100*time.Millisecond)))
	t.slow = time.After(s.client.Times.SlowRepeat)
}
