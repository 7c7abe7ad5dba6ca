//go:build unix

package stateless

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestWarmProfiles: warm workers under a policy that means something else by now are
// killed.
func TestWarmProfiles(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	var changed atomic.Bool
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
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
	p.Opening()
	p.warmed(f, "echo", 0)
	p.warmed(f, "echo", 1)
	changed.Store(true)
	p.Ask(sessiontest.CallOf("1", "echo", "{}"))
	for n := range 2 {
		f.Of("echo")[n].Ended(t)
		if strings.Contains(f.Saw("echo", n), "tools/call") {
			t.Error("an outdated worker was used")
		}
	}
	p.pooled("two of the new policy", func(pool *pool) bool {
		n := 0
		for _, w := range pool.warmReady() {
			if len(w.server.Profile.Env) == 1 {
				n++
			}
		}
		return n == 2
	})
	n := f.Started("echo")
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("2", "echo", "{}")).Line, "tool=echo")
	if f.Started("echo") > n+1 {
		t.Error("none of them was used")
	}
	p.Nothing()
}

// TestPolicyChangedOnHost: when the policy means something else on the host, no call gets
// a worker that was started before, and no discovery worker is used on.
func TestPolicyChangedOnHost(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	var means atomic.Value
	means.Store("/before")
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		o.Warm = func(tool string) int { return strings.Count(tool, "echo") }
		o.Tool = func(name string) (Tool, error) {
			profile := *s.Profile
			profile.Tool, profile.Dir = name, means.Load().(string)
			return Tool{Profile: &profile}, nil
		}
	})
	p.Greet()
	p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
	p.warmed(f, "echo", 0)
	p.Send(sessiontest.CallOf("2", "echo", "{}")) // the control
	p.Answer("2")
	if saw := f.Saw("echo", 0); !strings.Contains(saw, "tools/call") {
		t.Errorf("the warm worker saw %q", saw)
	}
	p.warmed(f, "echo", 1)
	means.Store("/now")
	p.Send(sessiontest.CallOf("3", "echo", "{}"), sessiontest.Legacy("4", "resources/read", `{"uri":"crash"}`))
	p.Answer("3")
	p.Answer("4")
	p.Ask(sessiontest.Legacy("5", "resources/read", `{"uri":"x"}`))
	<-f.Of("echo")[1].Done()
	p.Nothing()
	if saw := f.Saw("echo", 1); strings.Contains(saw, "tools/call") {
		t.Errorf("the outdated worker saw %q", saw)
	}
	if got := f.Dirs(""); len(got) != 2 || got[0] != "/before" || got[1] != "/now" {
		t.Errorf("the discovery workers were started under %q", got)
	}
}
