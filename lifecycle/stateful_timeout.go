package lifecycle

import (
	"fmt"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// watchCallTimes answers calls that take too long. The function it returns ends that.
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

// warnSlow says once of a call that half of its time has passed.
func (s *statefulSession) warnSlow(now time.Time) {
	limit := s.server.profile.Call
	s.client.proxy.Requests.Each(func(c *mcpproxy.Call) {
		if waited := now.Sub(c.Start); !c.Noted && string(c.Method) == "tools/call" && 2*waited >= limit && waited < limit {
			c.Noted = true
			s.client.stderr.Say(fmt.Sprintf("mcp-jail: waiting for the answer of server %q to a call of tool %q, for at most %v\n", s.server.profile.Server, c.Tool, limit))
		}
	})
}
