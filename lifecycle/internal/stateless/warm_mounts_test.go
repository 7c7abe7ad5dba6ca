//go:build unix

package stateless

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestWarmMounts: no call gets a warm worker in whose jail other things are mounted than at its start, or less than
// the plan mounts. Another process serves the call.
func TestWarmMounts(t *testing.T) {
	t.Parallel()
	type mounted struct {
		list  string
		whole bool
	}
	for name, c := range map[string]struct {
		before, after mounted
		used          bool
	}{
		"the same":             {mounted{"a", true}, mounted{"a", true}, true},
		"no mounts of its own": {mounted{"", true}, mounted{"", true}, true},
		"one is gone":          {mounted{"a b", true}, mounted{"a", true}, false},
		"not whole now":        {mounted{"a", true}, mounted{"a", false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := sessiontest.NewShop()
			var now atomic.Pointer[mounted]
			now.Store(&c.before)
			f.Mounted = func() ([]byte, bool) {
				m := now.Load()
				return []byte(m.list), m.whole
			}
			p := beginStateless(t, f, warm(2, "echo"))
			p.Opening()
			p.warmed(f, "echo", 0)
			p.warmed(f, "echo", 1)
			now.Store(&c.after)
			sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line, "tool=echo")
			used := 0
			for n := range 2 {
				used += strings.Count(f.Saw("echo", n), "tools/call")
			}
			if (used == 1) != c.used {
				t.Fatalf("%d of the warm workers have read the call", used)
			}
			for n := range 2 {
				if !c.used {
					f.Of("echo")[n].Ended(t)
				}
			}
			p.Nothing()
		})
	}
}

// TestWarmMountsAtStart: a mask may go before the first look at the mounts of a warm worker, and its name come back.
// Such a worker is ended, and the call gets another process.
func TestWarmMountsAtStart(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		f := sessiontest.NewShop()
		f.Mounted = func() ([]byte, bool) { return []byte("a"), whole }
		p := beginStateless(t, f, warm(1, "echo"))
		p.Opening()
		if whole {
			p.warmed(f, "echo", 0)
		} else {
			sessiontest.Eventually(t, "a warm worker was started", func() bool { return f.Started("echo") > 0 })
			f.Of("echo")[0].Ended(t)
		}
		sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line, "tool=echo")
		if used := strings.Contains(f.Saw("echo", 0), "tools/call"); used != whole {
			t.Errorf("whole %t: the warm worker has read the call: %t", whole, used)
		}
		p.Nothing()
	}
}
