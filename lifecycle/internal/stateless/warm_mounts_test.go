//go:build unix

package stateless

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestWarmMounts: no call gets a warm worker in whose jail less is mounted than the plan mounts. Another process
// serves the call, and the worker ends.
func TestWarmMounts(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		f := sessiontest.NewShop()
		var now atomic.Bool
		now.Store(true)
		f.Mounted = func() ([]byte, bool) { return []byte("a"), now.Load() }
		p := beginStateless(t, f, warm(2, "echo"))
		p.Opening()
		p.warmed(f, "echo", 0)
		p.warmed(f, "echo", 1)
		now.Store(whole)
		sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line, "tool=echo")
		used := 0
		for n := range 2 {
			used += strings.Count(f.Saw("echo", n), "tools/call")
			if !whole {
				f.Of("echo")[n].Ended(t)
			}
		}
		if (used == 1) != whole {
			t.Errorf("whole: %t; %d of the warm workers have read the call", whole, used)
		}
		p.Nothing()
	}
}
