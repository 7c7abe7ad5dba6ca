package stateless

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

func (s *statelessSession) wake() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

func (s *statelessSession) background(ctx context.Context) {
	ticker := time.NewTicker(s.client.Times.Tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			s.pool.stopPool()
			s.discovery.stop()
			return
		case now := <-ticker.C:
			s.discovery.stopIdle(now)
			s.pool.refillPool(ctx, now)
		case <-s.wakeup:
			s.pool.refillPool(ctx, time.Now())
		}
		s.client.Tasks.Go(func() {
			s.discovery.revalidate(ctx, mcpproxy.Legacy)
			s.discovery.revalidate(ctx, mcpproxy.Modern)
		})
	}
}
