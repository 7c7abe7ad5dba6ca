package lifecycle

import (
	"context"
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
	mu          sync.Mutex
	ready       []*worker
	tools       map[string]*warmTool
	order       []string // the tools, the one called last first
	starting    int      // workers that are being started, of all tools
	maxStarting int      // bounds them: calls come first
	closed      bool     // the session is
}

// warmTool is what is known of a tool's spares.
type warmTool struct {
	starting int
	failures int       // in a row
	notUntil time.Time // after a failure
	used     time.Time
}

// registerTools tells which tools there are.
func (s *statelessSession) registerTools(tools []string) {
	pool := &s.pool
	pool.mu.Lock()
	now := time.Now()
	for _, name := range tools {
		if pool.tools[name] == nil && s.options.Warm != nil && s.options.Warm(name) > 0 {
			pool.tools[name] = &warmTool{used: now}
			pool.order = append(pool.order, name)
		}
	}
	pool.mu.Unlock()
	s.wake()
}

// touchTool notes a call: the tool comes first from now on.
func (s *statelessSession) touchTool(tool string) {
	pool := &s.pool
	pool.mu.Lock()
	if t := pool.tools[tool]; t != nil {
		t.used = time.Now()
		i := slices.Index(pool.order, tool)
		pool.order = slices.Insert(slices.Delete(pool.order, i, i+1), 0, tool)
	}
	pool.mu.Unlock()
	s.wake()
}

// takeWarm hands out a spare of a tool that lives, went through that handshake, and is
// held by what the policy means now: a file may have come that is to be hidden. Those
// that are held by something else are ended.
func (s *statelessSession) takeWarm(tool string, info *clientInfo, profile *policy.Profile) (spare *worker) {
	pool := &s.pool
	pool.mu.Lock()
	defer pool.mu.Unlock()
	key := ""
	pool.ready = slices.DeleteFunc(pool.ready, func(w *worker) bool {
		if spare != nil || w.tool != tool || !w.info.matches(info) || isClosed(w.proc.Done()) {
			return false
		}
		if key == "" && w.server.profile != profile {
			key = profile.Key()
		}
		if w.server.profile != profile && w.server.profile.Key() != key {
			s.client.tasks.Go(w.kill)
			return true
		}
		spare = w
		return true
	})
	return spare
}

// refillPool ends the spares that are of no use any more and starts those that are
// wanted.
func (s *statelessSession) refillPool(ctx context.Context, now time.Time) {
	if s.options.Warm == nil || s.startingCalls.Load() > 0 { // what somebody waits for comes first
		return
	}
	useless, wanted := s.pool.plan(now, s.options.MaxCalls, s.client.times.warmIdle, s.options.Warm, func(w *worker) bool {
		return w.info.matches(s.infoFor(w.info.eraOrLegacy()))
	})
	for _, w := range useless {
		s.client.tasks.Go(w.kill)
	}
	for _, tool := range wanted {
		s.client.tasks.Go(func() { s.startWarm(ctx, tool) })
	}
}

// plan takes out the spares that are useless, and names the tools to start one for,
// which count as being started from then on.
func (p *pool) plan(now time.Time, most int, idle time.Duration, warm func(string) int, fits func(*worker) bool) (useless []*worker, wanted []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil
	}
	room, left := map[string]int{}, most
	for _, tool := range p.order {
		if t := p.tools[tool]; left > 0 && now.Sub(t.used) < idle {
			room[tool] = min(warm(tool), left)
			left -= room[tool]
		}
	}
	p.ready = slices.DeleteFunc(p.ready, func(w *worker) bool {
		if room[w.tool] > 0 && fits(w) && !isClosed(w.proc.Done()) {
			room[w.tool]--
			return false
		}
		useless = append(useless, w)
		return true
	})
	for _, tool := range p.order {
		t := p.tools[tool]
		for range room[tool] - t.starting {
			if p.starting >= p.maxStarting || len(p.ready)+p.starting >= most || now.Before(t.notUntil) {
				break
			}
			p.starting++
			t.starting++
			wanted = append(wanted, tool)
		}
	}
	return useless, wanted
}

// startWarm starts a spare and makes it ready. One that fails is nobody's failure
// but its own: the next call starts its process itself and is told what is wrong.
func (s *statelessSession) startWarm(ctx context.Context, tool string) {
	w := s.newWarmWorker(ctx, tool)
	pool := &s.pool
	pool.mu.Lock()
	t := pool.tools[tool]
	pool.starting--
	t.starting--
	var old []*worker
	switch {
	case w == nil:
		t.failures++
		t.notUntil = time.Now().Add(time.Second << min(t.failures, 6))
	case pool.closed:
		old = append(old, w)
	default:
		t.failures = 0
		// What the policy means on this host may have changed since the others.
		pool.ready = slices.DeleteFunc(pool.ready, func(other *worker) bool {
			if other.tool == tool && other.server.profile.Key() != w.server.profile.Key() {
				old = append(old, other)
				return true
			}
			return false
		})
		pool.ready = append(pool.ready, w)
	}
	pool.mu.Unlock()
	for _, w := range old {
		w.kill()
	}
	s.wake()
}

// newWarmWorker starts a process and waits until it is ready for a call; nil when it
// cannot be.
func (s *statelessSession) newWarmWorker(ctx context.Context, tool string) *worker {
	info := s.latestClientInfo()
	t, err := s.options.Tool(tool)
	if err != nil || info == nil {
		return nil
	}
	w, d := s.startWorker(ctx, tool, t, info, true)
	if d != nil {
		return nil
	}
	if _, d = w.handshake(ctx); d == nil && info.era == mcpproxy.Modern {
		// There is no handshake to be past. That it answers shows that it is loaded.
		f := mcpproxy.Parse(info.line)
		w.server.advertise(f, &f.Messages[0])
		_, err = w.request(ctx, f, w.server.profile.Startup)
	}
	if d != nil || err != nil {
		w.kill()
		return nil
	}
	return w
}

// stopPool ends all of them, for good.
func (s *statelessSession) stopPool() {
	pool := &s.pool
	pool.mu.Lock()
	pool.closed = true
	ready := pool.ready
	pool.ready = nil
	pool.mu.Unlock()
	for _, w := range ready {
		s.client.tasks.Go(w.kill)
	}
}
