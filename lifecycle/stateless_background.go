package lifecycle

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// wake has background look.
func (s *statelessSession) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// background does what no request waits for: it keeps spares ready, verifies what the
// catalogue has answered, and ends what is idle.
func (s *statelessSession) background(ctx context.Context) {
	ticker := time.NewTicker(s.client.times.tick)
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
		s.client.tasks.Go(func() {
			s.revalidate(ctx, mcpproxy.Legacy)
			s.revalidate(ctx, mcpproxy.Modern)
		})
	}
}
