//go:build unix

package lifecycle

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWarmProfiles: warm workers under a policy that means something else by now are
// killed.
func TestWarmProfiles(t *testing.T) {
	t.Parallel()
	f := newShop()
	var changed atomic.Bool
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		warm(2, "echo")(s, o)
		resolve := o.Tool
		o.Tool = func(name string) (Tool, error) {
			tool, err := resolve(name)
			if changed.Load() {
				tool.Profile.Env = []policy.Variable{{Name: "NEW", Value: "1"}}
			}
			return tool, err
		}
	})
	p.opening()
	p.warmed(f, "echo", 0)
	p.warmed(f, "echo", 1)
	changed.Store(true)
	p.send(callOf("1", "echo", "{}"))
	p.answer("1")
	for n := range 2 {
		f.of("echo")[n].ended(t)
		if strings.Contains(f.saw("echo", n), "tools/call") {
			t.Error("an outdated worker was used")
		}
	}
	eventually(t, "two of the new policy", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		n := 0
		for _, w := range p.session.pool.ready {
			if len(w.server.profile.Env) == 1 {
				n++
			}
		}
		return n == 2
	})
	n := f.started("echo")
	p.send(callOf("2", "echo", "{}"))
	has(t, p.answer("2").line, "tool=echo")
	if f.started("echo") > n+1 {
		t.Error("none of them was used")
	}
	p.nothing()
}

// TestResolveOnce: the warm worker that replaces another one starts with what the call resolved that
// took it.
func TestResolveOnce(t *testing.T) {
	t.Parallel()
	f := newShop()
	var resolved atomic.Int32
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		warm(1, "echo")(s, o)
		resolve := o.Tool
		o.Tool = func(name string) (Tool, error) {
			if name == "echo" {
				resolved.Add(1)
			}
			return resolve(name)
		}
	})
	p.opening()
	p.warmed(f, "echo", 0)
	for n := range 3 {
		before := resolved.Load()
		p.send(callOf("1", "echo", "{}"))
		p.answer("1")
		p.warmed(f, "echo", n+1)
		if got := resolved.Load() - before; got != 1 {
			t.Errorf("call %d: the policy was resolved %d times", n, got)
		}
	}
	p.nothing()
}

// TestPolicyChangedOnHost: when the policy means something else on the host, no call gets
// a worker that was started before, and no discovery worker is used on.
func TestPolicyChangedOnHost(t *testing.T) {
	t.Parallel()
	f := newShop()
	var means atomic.Value
	means.Store("/before")
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
		o.Tool = func(name string) (Tool, error) {
			profile := *s.Profile
			profile.Tool, profile.Dir = name, means.Load().(string)
			return Tool{Profile: &profile}, nil
		}
	})
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	p.warmed(f, "echo", 0)
	p.send(callOf("2", "echo", "{}")) // the control
	p.answer("2")
	if saw := f.saw("echo", 0); !strings.Contains(saw, "tools/call") {
		t.Errorf("the warm worker saw %q", saw)
	}
	p.warmed(f, "echo", 1)
	means.Store("/now")
	p.send(callOf("3", "echo", "{}"), legacy("4", "resources/read", `{"uri":"crash"}`))
	p.answer("3")
	p.answer("4")
	p.send(legacy("5", "resources/read", `{"uri":"x"}`))
	p.answer("5")
	<-f.of("echo")[1].done
	p.nothing()
	if saw := f.saw("echo", 1); strings.Contains(saw, "tools/call") {
		t.Errorf("the outdated worker saw %q", saw)
	}
	if got := f.dirs(""); len(got) != 2 || got[0] != "/before" || got[1] != "/now" {
		t.Errorf("the discovery workers were started under %q", got)
	}
}
