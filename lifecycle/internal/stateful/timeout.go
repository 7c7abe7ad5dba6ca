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
	calls := s.client.ClaimRequests(func(c *mcpproxy.Call) bool {
		return string(c.Method) == "tools/call" && now.Sub(c.Start) >= limit
	})
	if len(calls) == 0 {
		return
	}
	s.client.AnswerCalls(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		ev := s.server.Evidence(diagnostics.StageCall, c, c.Start)
		ev.Timeout = limit
		return s.server.Diagnose(ev)
	})
	for i := range calls {
		s.server.SendAsync(s.upstream.server.Load(), session.Cancellation(calls[i].ID, "timed out"))
	}
}
