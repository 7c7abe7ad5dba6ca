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
			s.pool.stopOffered()
			return
		case now := <-ticker.C:
			s.pool.refill(ctx, now)
			s.pool.prepare(now)
		case <-s.wakeup:
			s.pool.refill(ctx, time.Now())
			s.pool.prepare(time.Now())
		}
		s.client.Tasks.Go(func() {
			s.discovery.revalidate(ctx, mcpproxy.Legacy)
			s.discovery.revalidate(ctx, mcpproxy.Modern)
		})
	}
}
