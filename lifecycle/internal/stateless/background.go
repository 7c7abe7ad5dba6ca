package stateless

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// wake makes background run a round now.
func (s *statelessSession) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// background does the work that no request waits for: it refills the pool, revalidates
// cached answers, and stops idle workers.
func (s *statelessSession) background(ctx context.Context) {
	ticker := time.NewTicker(s.client.Times.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.stopPool()
			s.stopDiscovery()
			return
		case now := <-ticker.C:
			s.stopIdleDiscovery(now)
			s.refillPool(ctx, now)
		case <-s.wakeup:
			s.refillPool(ctx, time.Now())
		}
		s.client.Tasks.Go(func() {
			s.revalidate(ctx, mcpproxy.Legacy)
			s.revalidate(ctx, mcpproxy.Modern)
		})
	}
}
