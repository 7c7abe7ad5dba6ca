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

// spares are processes that were started ahead: jailed under the policy of a tool,
// past the client's handshake, and given to one call each. They are for the tools
// that were called last, and there are never more of them, ready or on their way, than
// calls may run at once.
type spares struct {
	mu       sync.Mutex
	ready    []*child
	tools    map[string]*spareTool
	order    []string // the tools, the one called last first
	starting int
	over     bool // the session is
}

// spareTool is what is known of a tool's spares.
type spareTool struct {
	starting int
	failures int       // in a row
	notUntil time.Time // after a failure
	used     time.Time
}

// startAtOnce bounds the spares that are being started: calls come first.
var startAtOnce = max(1, runtime.GOMAXPROCS(0)/2)

// offer tells which tools there are.
func (p *perCall) offer(tools []string) {
	s := &p.spares
	s.mu.Lock()
	now := time.Now()
	for _, name := range tools {
		if s.tools[name] == nil && p.options.Warm != nil && p.options.Warm(name) > 0 {
			s.tools[name] = &spareTool{used: now}
			s.order = append(s.order, name)
		}
	}
	s.mu.Unlock()
	p.poke()
}

// calledTool notes a call: the tool comes first from now on.
func (p *perCall) calledTool(tool string) {
	s := &p.spares
	s.mu.Lock()
	if t := s.tools[tool]; t != nil {
		t.used = time.Now()
		i := slices.Index(s.order, tool)
		s.order = slices.Insert(slices.Delete(s.order, i, i+1), 0, tool)
	}
	s.mu.Unlock()
	p.poke()
}

// takeSpare hands out a spare of a tool that lives, went through that handshake, and is
// held by what the policy means now: a file may have come that is to be hidden. Those
// that are held by something else are ended.
func (p *perCall) takeSpare(tool string, h *hello, profile *policy.Profile) (spare *child) {
	s := &p.spares
	s.mu.Lock()
	defer s.mu.Unlock()
	key := ""
	s.ready = slices.DeleteFunc(s.ready, func(c *child) bool {
		if spare != nil || c.tool != tool || !c.hello.same(h) || isClosed(c.proc.Done()) {
			return false
		}
		if key == "" && c.server.Profile != profile {
			key = profile.Key()
		}
		if c.server.Profile != profile && c.server.Profile.Key() != key {
			p.client.tasks.Go(c.kill)
			return true
		}
		spare = c
		return true
	})
	return spare
}

// keepSpares ends the spares that are of no use any more and starts those that are
// wanted.
func (p *perCall) keepSpares(ctx context.Context, now time.Time) {
	if p.options.Warm == nil || p.booting.Load() > 0 { // what somebody waits for comes first
		return
	}
	useless, wanted := p.spares.plan(now, p.options.MaxCalls, p.client.times.spare, p.options.Warm, func(c *child) bool {
		return c.hello.same(p.handshakeFor(c.hello.eraOf()))
	})
	for _, c := range useless {
		p.client.tasks.Go(c.kill)
	}
	for _, tool := range wanted {
		p.client.tasks.Go(func() { p.startSpare(ctx, tool) })
	}
}

// plan takes out the spares that are useless, and names the tools to start one for,
// which count as being started from then on.
func (s *spares) plan(now time.Time, most int, idle time.Duration, warm func(string) int, fits func(*child) bool) (useless []*child, wanted []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, nil
	}
	room, left := map[string]int{}, most
	for _, tool := range s.order {
		if t := s.tools[tool]; left > 0 && now.Sub(t.used) < idle {
			room[tool] = min(warm(tool), left)
			left -= room[tool]
		}
	}
	s.ready = slices.DeleteFunc(s.ready, func(c *child) bool {
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
			if s.starting == startAtOnce || len(s.ready)+s.starting >= most || now.Before(t.notUntil) {
				break
			}
			s.starting++
			t.starting++
			wanted = append(wanted, tool)
		}
	}
	return useless, wanted
}

// startSpare starts a spare and makes it ready. One that fails is nobody's failure
// but its own: the next call starts its process itself and is told what is wrong.
func (p *perCall) startSpare(ctx context.Context, tool string) {
	c := p.newSpare(ctx, tool)
	s := &p.spares
	s.mu.Lock()
	t := s.tools[tool]
	s.starting--
	t.starting--
	var old []*child
	switch {
	case c == nil:
		t.failures++
		t.notUntil = time.Now().Add(time.Second << min(t.failures, 6))
	case s.over:
		old = append(old, c)
	default:
		t.failures = 0
		// What the policy means on this host may have changed since the others.
		s.ready = slices.DeleteFunc(s.ready, func(other *child) bool {
			if other.tool == tool && other.server.Profile.Key() != c.server.Profile.Key() {
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
	p.poke()
}

// newSpare starts a process and waits until it is ready for a call; nil when it
// cannot be.
func (p *perCall) newSpare(ctx context.Context, tool string) *child {
	h := p.latest()
	t, err := p.options.Tool(tool)
	if err != nil || h == nil {
		return nil
	}
	c, d := p.spawn(ctx, tool, t, h, true)
	if d != nil {
		return nil
	}
	if _, d = c.greet(ctx); d == nil && h.era == mcpproxy.Modern {
		// There is no handshake to be past. That it answers shows that it is loaded.
		f := mcpproxy.Parse(h.line)
		c.server.tellLimits(f, &f.Messages[0])
		_, err = c.ask(ctx, f, c.server.Profile.Startup)
	}
	if d != nil || err != nil {
		c.kill()
		return nil
	}
	return c
}

// endSpares ends all of them, for good.
func (p *perCall) endSpares() {
	s := &p.spares
	s.mu.Lock()
	s.over = true
	ready := s.ready
	s.ready = nil
	s.mu.Unlock()
	for _, c := range ready {
		p.client.tasks.Go(c.kill)
	}
}
