package lifecycle

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// wake has background look.
func (p *statelessSession) wake() {
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// background does what no request waits for: it keeps spares ready, verifies what the
// catalogue has answered, and ends what is idle.
func (p *statelessSession) background(ctx context.Context) {
	ticker := time.NewTicker(p.client.times.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			p.stopPool()
			p.stopDiscovery()
			return
		case now := <-ticker.C:
			p.stopIdleDiscovery(now)
			p.refillPool(ctx, now)
		case <-p.wakeup:
			p.refillPool(ctx, time.Now())
		}
		p.client.tasks.Go(func() {
			p.revalidate(ctx, mcpproxy.Legacy)
			p.revalidate(ctx, mcpproxy.Modern)
		})
	}
}
