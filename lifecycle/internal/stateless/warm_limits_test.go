//go:build unix

package stateless

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestWarmLimits: there are never more warm workers than calls may run, and they are of
// the tools that were called last.
func TestWarmLimits(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		warm(2, "echo", "ask", "fail")(s, o)
		o.MaxCalls = 3
		session.TimesOf(s).Tick = 5 * time.Millisecond
	})
	p.Opening()
	sessiontest.Eventually(t, "three", func() bool { return f.Started("echo")+f.Started("ask")+f.Started("fail") >= 3 })
	p.Ask(sessiontest.CallOf("1", "fail", "{}"))
	p.pooled("warm workers of the tool called last", func(pool *pool) bool {
		n := map[string]int{}
		for _, w := range pool.warmReady() {
			n[w.tool]++
		}
		return n["fail"] == 2 && n["echo"] == 1 && len(n) == 2
	})
	all := func() int {
		f.Mu.Lock()
		defer f.Mu.Unlock()
		return len(f.Procs)
	}
	started := all()
	for i := range 20 {
		p.Send(sessiontest.Legacy(fmt.Sprint(10+i), "resources/read", "{}"))
		p.Answer(fmt.Sprint(10 + i))
	}
	if n := all(); n != started {
		t.Errorf("%d processes were started for nothing", n-started)
	}
	p.Nothing()
}

// TestWarmIdle: a warm worker of a tool that is not called is stopped.
func TestWarmIdle(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		warm(1, "echo")(s, o)
		session.TimesOf(s).Tick = 20 * time.Millisecond
	})
	p.Opening()
	f.Ready(t, "echo", 0)
	pool := &p.session.pool
	pool.mu.Lock()
	pool.warmTools[pool.warmTool("echo")].used = time.Now().Add(-time.Hour)
	pool.mu.Unlock()
	f.Of("echo")[0].Ended(t)
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line, "tool=echo")
	p.Nothing()
}
