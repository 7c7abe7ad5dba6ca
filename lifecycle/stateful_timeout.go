package lifecycle

import (
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// watchCallTimes answers calls that take too long, until stop is called.
func (s *statefulSession) watchCallTimes() (stop func()) {
	limit := s.server.profile.Call
	if limit <= 0 {
		return func() {}
	}
	quit := make(chan struct{})
	s.client.tasks.Go(func() {
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

// warnSlow says once of each call that half of its time has passed.
func (s *statefulSession) warnSlow(now time.Time) {
	limit := s.server.profile.Call
	s.client.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if waited := now.Sub(c.Start); !c.Noted && string(c.Method) == "tools/call" && 2*waited >= limit && waited < limit {
			c.Noted = true
			s.client.stderr.SayLine(fmt.Sprintf("waiting for the answer of server %q to a call of tool %q, for at most %v", s.server.profile.Server, c.Tool, limit))
		}
	})
}

// answerTimedOut answers the calls that have waited longer than the profile allows, and
// asks the server to stop working on them (MCP, "Cancellation").
func (s *statefulSession) answerTimedOut(now time.Time) {
	limit := s.server.profile.Call
	calls := s.client.claimRequests(func(c *mcpproxy.Call) bool {
		return string(c.Method) == "tools/call" && now.Sub(c.Start) >= limit
	})
	if len(calls) == 0 {
		return
	}
	s.client.answerCalls(calls, func(c *mcpproxy.Call) diagnostics.Diagnosis {
		ev := s.server.evidence(diagnostics.StageCall, c, c.Start)
		ev.Timeout = limit
		return s.server.diagnose(ev)
	})
	for i := range calls {
		s.server.sendAsync(s.upstream.server.Load(), cancellation(calls[i].ID, "timed out"))
	}
}
