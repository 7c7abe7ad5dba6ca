package lifecycle

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// pool are processes that were started ahead: jailed under the policy of a tool,
// past the client's handshake, and given to one call each. They are for the tools
// that were called last, and there are never more of them, ready or on their way, than
// calls may run at once.
type pool struct {
	mu       sync.Mutex
	ready    []*worker
	tools    map[string]*warmTool
	order    []string // the tools, the one called last first
	starting int
	closed   bool // the session is
}

// warmTool is what is known of a tool's spares.
type warmTool struct {
	starting int
	failures int       // in a row
	notUntil time.Time // after a failure
	used     time.Time
}

// maxStarting bounds the spares that are being started: calls come first.
var maxStarting = max(1, runtime.GOMAXPROCS(0)/2)

// registerTools tells which tools there are.
func (p *statelessSession) registerTools(tools []string) {
	s := &p.pool
	s.mu.Lock()
	now := time.Now()
	for _, name := range tools {
		if s.tools[name] == nil && p.options.Warm != nil && p.options.Warm(name) > 0 {
			s.tools[name] = &warmTool{used: now}
			s.order = append(s.order, name)
		}
	}
	s.mu.Unlock()
	p.wake()
}

// touchTool notes a call: the tool comes first from now on.
func (p *statelessSession) touchTool(tool string) {
	s := &p.pool
	s.mu.Lock()
	if t := s.tools[tool]; t != nil {
		t.used = time.Now()
		i := slices.Index(s.order, tool)
		s.order = slices.Insert(slices.Delete(s.order, i, i+1), 0, tool)
	}
	s.mu.Unlock()
	p.wake()
}

// takeWarm hands out a spare of a tool that lives, went through that handshake, and is
// held by what the policy means now: a file may have come that is to be hidden. Those
// that are held by something else are ended.
func (p *statelessSession) takeWarm(tool string, h *clientInfo, profile *policy.Profile) (spare *worker) {
	s := &p.pool
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ""
	s.ready = slices.DeleteFunc(s.ready, func(c *worker) bool {
		if spare != nil || c.tool != tool || !c.info.matches(h) || isClosed(c.proc.Done()) {
			return false
		}
		if key == "" && c.server.profile != profile {
			key = profile.Key()
		}
		if c.server.profile != profile && c.server.profile.Key() != key {
			p.client.tasks.Go(c.kill)
			return true
		}
		spare = c
		return true
	})
	return spare
}

// refillPool ends the spares that are of no use any more and starts those that are
// wanted.
func (p *statelessSession) refillPool(ctx context.Context, now time.Time) {
	if p.options.Warm == nil || p.startingCalls.Load() > 0 { // what somebody waits for comes first
		return
	}
	useless, wanted := p.pool.plan(now, p.options.MaxCalls, p.client.times.warmIdle, p.options.Warm, func(c *worker) bool {
		return c.info.matches(p.infoFor(c.info.eraOrLegacy()))
	})
	for _, c := range useless {
		p.client.tasks.Go(c.kill)
	}
	for _, tool := range wanted {
		p.client.tasks.Go(func() { p.startWarm(ctx, tool) })
	}
}

// plan takes out the spares that are useless, and names the tools to start one for,
// which count as being started from then on.
func (s *pool) plan(now time.Time, most int, idle time.Duration, warm func(string) int, fits func(*worker) bool) (useless []*worker, wanted []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	room, left := map[string]int{}, most
	for _, tool := range s.order {
		if t := s.tools[tool]; left > 0 && now.Sub(t.used) < idle {
			room[tool] = min(warm(tool), left)
			left -= room[tool]
		}
	}
	s.ready = slices.DeleteFunc(s.ready, func(c *worker) bool {
		if room[c.tool] > 0 && fits(c) && !isClosed(c.proc.Done()) {
			room[c.tool]--
			return false
		}
		useless = append(useless, c)
		return true
	})
	for _, tool := range s.order {
		t := s.tools[tool]
		for range room[tool] - t.starting {
			if s.starting == maxStarting || len(s.ready)+s.starting >= most || now.Before(t.notUntil) {
				break
			}
			s.starting++
			t.starting++
			wanted = append(wanted, tool)
		}
	}
	return useless, wanted
}

// startWarm starts a spare and makes it ready. One that fails is nobody's failure
// but its own: the next call starts its process itself and is told what is wrong.
func (p *statelessSession) startWarm(ctx context.Context, tool string) {
	c := p.newWarmWorker(ctx, tool)
	s := &p.pool
	s.mu.Lock()
	t := s.tools[tool]
	s.starting--
	t.starting--
	var old []*worker
	switch {
	case c == nil:
		t.failures++
		t.notUntil = time.Now().Add(time.Second << min(t.failures, 6))
	case s.closed:
		old = append(old, c)
	default:
		t.failures = 0
		// What the policy means on this host may have changed since the others.
		s.ready = slices.DeleteFunc(s.ready, func(other *worker) bool {
			if other.tool == tool && other.server.profile.Key() != c.server.profile.Key() {
				old = append(old, other)
				return true
			}
			return false
		})
		s.ready = append(s.ready, c)
	}
	s.mu.Unlock()
	for _, c := range old {
		c.kill()
	}
	p.wake()
}

// newWarmWorker starts a process and waits until it is ready for a call; nil when it
// cannot be.
func (p *statelessSession) newWarmWorker(ctx context.Context, tool string) *worker {
	h := p.latestClientInfo()
	t, err := p.options.Tool(tool)
	if err != nil || h == nil {
		return nil
	}
	c, d := p.startWorker(ctx, tool, t, h, true)
	if d != nil {
		return nil
	}
	if _, d = c.handshake(ctx); d == nil && h.era == mcpproxy.Modern {
		// There is no handshake to be past. That it answers shows that it is loaded.
		f := mcpproxy.Parse(h.line)
		c.server.advertise(f, &f.Messages[0])
		_, err = c.request(ctx, f, c.server.profile.Startup)
	}
	if d != nil || err != nil {
		c.kill()
		return nil
	}
	return c
}

// stopPool ends all of them, for good.
func (p *statelessSession) stopPool() {
	s := &p.pool
	s.mu.Lock()
	s.closed = true
	ready := s.ready
	s.ready = nil
	s.mu.Unlock()
	for _, c := range ready {
		p.client.tasks.Go(c.kill)
	}
}
