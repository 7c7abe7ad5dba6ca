package stateless

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// pool holds warm workers. A warm worker was started before there was a call for it, under
// the policy of its tool. It is past the client's handshake and gets one call. The tools
// that were called last have precedence. There are at most as many warm workers as calls may
// run at once. Those that are being started count.
type pool struct {
	mu          sync.Mutex
	ready       []*worker
	tools       map[string]*warmTool
	order       []string // the tools; the one called last comes first
	starting    int      // warm workers that are being started, of all tools
	maxStarting int      // bounds starting, so that calls come first
	closed      bool     // no worker is added any more
}

// warmTool is the state of one tool in the pool.
type warmTool struct {
	starting int
	failures int       // in a row
	notUntil time.Time // after a failure
	used     time.Time
	resolved Tool // by the last call, for the next worker
}

// registerTools adds the tools that the server lists to the pool, if they are to have warm
// workers.
func (s *statelessSession) registerTools(tools []string) {
	pool := &s.pool
	pool.mu.Lock()
	for _, name := range tools {
		if pool.tools[name] == nil && s.options.Warm != nil && s.options.Warm(name) > 0 {
			pool.tools[name] = &warmTool{used: time.Now()}
			pool.order = append(pool.order, name)
		}
	}
	pool.mu.Unlock()
	s.wake()
}

// touchTool moves a tool that was just called to the front of the pool's order.
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

// takeWarm takes a warm worker for a call, or returns nil. The worker has to be alive,
// past the same handshake, and jailed under the profile that the policy resolves to
// now: files that have to be hidden may have appeared since. It kills workers under an older
// profile.
func (s *statelessSession) takeWarm(tool string, info *clientInfo, now Tool) (found *worker) {
	pool := &s.pool
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.ready = slices.DeleteFunc(pool.ready, func(w *worker) bool {
		if found != nil || w.tool != tool || !w.info.matches(info) || session.IsClosed(w.proc.Done()) {
			return false
		}
		if w.server.Profile != now.Profile && w.server.Profile.Key() != now.Profile.Key() {
			s.client.Tasks.Go(w.kill)
			return true
		}
		found = w
		return true
	})
	if t := pool.tools[tool]; t != nil {
		t.resolved = now
	}
	return found
}

// lastResolved returns what the last call of a tool resolved, once, so that the host is not asked
// twice for each call. If the host changes meanwhile, takeWarm gives the worker to no call.
func (p *pool) lastResolved(tool string) (last Tool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, p.tools[tool].resolved = p.tools[tool].resolved, Tool{}
	return last
}

// refillPool kills warm workers that are of no use any more and starts those that are
// missing.
func (s *statelessSession) refillPool(ctx context.Context, now time.Time) {
	if s.options.Warm == nil || s.startingCalls.Load() > 0 { // calls that wait for a worker come first
		return
	}
	useless, wanted := s.pool.plan(now, s.options.MaxCalls, s.client.Times.WarmIdle, s.options.Warm, func(w *worker) bool {
		return w.info.matches(s.infoFor(w.info.eraOrLegacy()))
	})
	for _, w := range useless {
		s.client.Tasks.Go(w.kill)
	}
	for _, tool := range wanted {
		s.client.Tasks.Go(func() { s.startWarm(ctx, tool) })
	}
}

// plan removes the workers that are of no use, and names the tools to start workers for.
// It counts these as being started.
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
		if room[w.tool] > 0 && fits(w) && !session.IsClosed(w.proc.Done()) {
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

// startWarm starts a warm worker and adds it to the pool. Its failure is not announced:
// the next call starts a worker itself and gets the reason.
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
		// The policy may resolve to another profile than when the others started.
		pool.ready = slices.DeleteFunc(pool.ready, func(other *worker) bool {
			if other.tool == tool && other.server.Profile.Key() != w.server.Profile.Key() {
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

// newWarmWorker starts a worker and waits until it is ready for a call. It returns nil if
// that fails.
func (s *statelessSession) newWarmWorker(ctx context.Context, tool string) *worker {
	info := s.latestClientInfo()
	t, err := s.pool.lastResolved(tool), error(nil)
	if t.Profile == nil {
		t, err = s.options.Tool(tool)
	}
	if err != nil || info == nil {
		return nil
	}
	w, d := s.startWorker(ctx, tool, t, info, true)
	if d != nil {
		return nil
	}
	if _, d = w.handshake(ctx); d == nil && info.era == mcpproxy.Modern {
		// The modern era has no handshake. An answer shows that the program is loaded.
		f := mcpproxy.Parse(info.line)
		w.server.Advertise(f, &f.Messages[0])
		_, err = w.request(ctx, f, w.server.Profile.Startup)
	}
	if d != nil || err != nil {
		w.kill()
		return nil
	}
	return w
}

// stopPool kills all warm workers and closes the pool.
func (s *statelessSession) stopPool() {
	s.pool.mu.Lock()
	s.pool.closed = true
	for _, w := range s.pool.ready {
		s.client.Tasks.Go(w.kill)
	}
	s.pool.ready = nil
	s.pool.mu.Unlock()
}
