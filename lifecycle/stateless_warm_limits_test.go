//go:build unix

package lifecycle

import (
	"fmt"
	"testing"
	"time"
)

// TestWarmLimits: there are never more warm workers than calls may run, and they are of
// the tools that were called last.
func TestWarmLimits(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		warm(2, "echo", "ask", "fail")(s, o)
		o.MaxCalls = 3
		s.times.tick = 5 * time.Millisecond
	})
	p.opening()
	eventually(t, "three", func() bool { return f.started("echo")+f.started("ask")+f.started("fail") >= 3 })
	p.send(callOf("1", "fail", "{}"))
	p.answer("1")
	eventually(t, "warm workers of the tool called last", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		n := map[string]int{}
		for _, w := range p.session.pool.ready {
			n[w.tool]++
		}
		return n["fail"] == 2 && n["echo"] == 1 && len(n) == 2
	})
	all := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.procs)
	}
	started := all()
	for i := range 20 {
		p.send(legacy(fmt.Sprint(10+i), "resources/read", "{}"))
		p.answer(fmt.Sprint(10 + i))
	}
	if n := all(); n != started {
		t.Errorf("%d processes were started for nothing", n-started)
	}
	p.nothing()
}

// TestWarmIdle: a warm worker of a tool that is not called is stopped.
func TestWarmIdle(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		warm(1, "echo")(s, o)
		s.times.warmIdle, s.times.tick = 300*time.Millisecond, 20*time.Millisecond
	})
	p.opening()
	f.ready(t, "echo", 0)
	f.of("echo")[0].ended(t)
	p.send(callOf("1", "echo", "{}"))
	has(t, p.answer("1").line, "tool=echo")
	p.nothing()
}

// TestPlanCountsStartingWorkers: workers that are being started count against the limit,
// also those of a tool that is no longer the one called last.
func TestPlanCountsStartingWorkers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := pool{
		tools:       map[string]*warmTool{"before": {starting: 2, used: now}, "last": {used: now}},
		order:       []string{"last", "before"},
		starting:    2,
		maxStarting: 8,
	}
	two := func(string) int { return 2 }
	if _, wanted := p.plan(now, 2, time.Minute, two, nil); len(wanted) != 0 {
		t.Errorf("with 2 of 2 being started, the plan wants %q too", wanted)
	}
}
