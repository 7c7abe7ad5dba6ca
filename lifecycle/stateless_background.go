package lifecycle

import (
	"context"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// poke has background look.
func (p *perCall) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// background does what no request waits for: it keeps spares ready, verifies what the
// catalogue has answered, and ends what is idle.
func (p *perCall) background(ctx context.Context) {
	ticker := time.NewTicker(p.client.times.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			p.endSpares()
			p.endDiscoveries()
			return
		case now := <-ticker.C:
			p.endIdle(now)
			p.keepSpares(ctx, now)
		case <-p.wake:
			p.keepSpares(ctx, time.Now())
		}
		p.client.tasks.Go(func() {
			p.verify(ctx, mcpproxy.Legacy)
			p.verify(ctx, mcpproxy.Modern)
		})
	}
}
