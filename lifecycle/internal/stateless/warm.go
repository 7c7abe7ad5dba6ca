package stateless

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/answers"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// A warm worker was started before there was a call for it, under the policy of its tool. It is past the
// client's handshake and gets one call. The tools that were called last have precedence. There are at most
// as many warm workers as calls may run at once. Those that are being started count.

// warmTool is a tool with warm workers.
type warmTool struct {
	name     string
	used     time.Time
	notUntil time.Time // no worker is started until then
}

// warmPause is how long no warm worker of a tool is started after one that has failed.
const warmPause = 30 * time.Second

func (p *pool) registerTools(tools []string) {
	p.mu.Lock()
	for _, name := range tools {
		if p.warmTool(name) < 0 && p.session.options.Warm != nil && p.session.options.Warm(name) > 0 {
			p.warmTools = append(p.warmTools, &warmTool{name: name, used: time.Now()})
		}
	}
	p.mu.Unlock()
	p.session.wake()
}

// warmTool returns the index of a tool in warmTools, or -1. The caller holds mu.
func (p *pool) warmTool(name string) int {
	return slices.IndexFunc(p.warmTools, func(t *warmTool) bool { return t.name == name })
}

func (p *pool) touchTool(name string) {
	p.mu.Lock()
	if i := p.warmTool(name); i >= 0 {
		t := p.warmTools[i]
		t.used = time.Now()
		p.warmTools = slices.Insert(slices.Delete(p.warmTools, i, i+1), 0, t)
	}
	p.mu.Unlock()
	p.session.wake()
}

// takeWarm takes a warm worker for a call, or returns nil. The worker must be alive, past the handshake that
// a new one would get, and jailed as isJailed says.
func (p *pool) takeWarm(tool string, info *answers.ClientInfo) *worker {
	for {
		w := p.nextWarm(tool, info)
		if w == nil || p.isJailed(w) {
			return w
		}
		p.release(w)
	}
}

// isJailed reports whether a worker still is in the jail that its policy means now: files that must be hidden may
// have appeared since it was started. All that the plan mounts must still be mounted: a mask goes when its name is
// removed outside, and moves with a rename.
func (p *pool) isJailed(w *worker) bool {
	now, err := p.session.toolNow(w.tool, true)
	if err != nil || w.server.Profile != now.Profile && w.server.Profile.Key() != now.Profile.Key() {
		return false
	}
	_, whole := w.proc.Mounts()
	return whole
}

// nextWarm takes a warm worker without a look at its jail.
func (p *pool) nextWarm(tool string, info *answers.ClientInfo) (found *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdraw(func(w *worker) bool {
		if found != nil || w.tool != tool || !w.isStarted() || w.isGone() || !p.isCurrent(w, info) {
			return false
		}
		found = w
		w.uses++
		return true
	})
	return found
}

// isCurrent reports whether a worker is past the handshake that a new one for the client would get. The caller
// holds mu.
func (p *pool) isCurrent(w *worker, info *answers.ClientInfo) bool {
	return w.info.Matches(info) && (info.Era() == mcpproxy.Modern || bytes.Equal(w.logLevel, p.logLevel))
}

// refill ends the offered workers that are of no use any more, and starts warm workers.
func (p *pool) refill(ctx context.Context, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.startingCalls > 0 { // calls that wait for a worker come first
		return
	}
	missing, all, starting := p.room(now), 0, 0
	p.withdraw(func(w *worker) bool {
		switch {
		case w.tool == "":
			return w.isGone() || w.uses == 0 && now.Sub(w.lastUsed) > p.client.Times.DiscoveryIdle
		case !w.isStarted():
			starting++
		case w.isGone(), missing[w.tool] <= 0, !p.isCurrent(w, p.session.discovery.infos.For(w.info.Era())):
			return true
		}
		missing[w.tool]--
		all++
		return false
	})
	for _, t := range p.warmTools {
		for range missing[t.name] {
			if starting >= p.maxStarting || all >= p.session.options.MaxCalls || now.Before(t.notUntil) {
				break
			}
			starting++
			all++
			p.startWarm(ctx, t)
		}
	}
}

// room returns how many warm workers of each tool there may be. The tools called last get room first; each may
// fill what is left. The caller holds mu.
func (p *pool) room(now time.Time) map[string]int {
	room, left := map[string]int{}, p.session.options.MaxCalls
	for _, t := range p.warmTools {
		if now.Sub(t.used) < p.client.Times.WarmIdle {
			room[t.name] = min(p.session.options.Warm(t.name), left)
			left -= room[t.name]
		}
	}
	return room
}

// startWarm starts a warm worker. Its failure is not announced: the next call starts a worker itself and gets
// the reason. The caller holds mu.
func (p *pool) startWarm(ctx context.Context, of *warmTool) {
	info := p.session.discovery.infos.Latest()
	if info == nil {
		return
	}
	w := p.newWorker(of.name, info)
	w.warm = true
	p.offers = append(p.offers, w)
	p.client.Tasks.Go(func() {
		var failed *diagnostics.Diagnosis
		t, err := p.session.toolNow(of.name, false)
		if err != nil {
			failed = &diagnostics.Diagnosis{}
		}
		p.startOffered(ctx, w, t, failed)
		if w.failure != nil {
			p.mu.Lock()
			of.notUntil = time.Now().Add(warmPause)
			p.mu.Unlock()
		}
		p.session.wake()
	})
}

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
			s.client.Tasks.Go(func() { s.discovery.refresh(false) }) // the client may have asked for nothing for long
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
