//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// warm keeps n warm workers of each of some tools.
func warm(n int, tools ...string) func(*session.Session, *Options) {
	return func(_ *session.Session, o *Options) {
		o.Warm = func(tool string) int {
			for _, t := range tools {
				if t == tool {
					return n
				}
			}
			return 0
		}
	}
}

// warmed waits until the n-th process of a tool is a warm worker in the pool.
func (p *statelessPlay) warmed(f *sessiontest.Fleet, tool string, n int) {
	p.T.Helper()
	f.Ready(p.T, tool, n)
	p.pooled("the worker is in the pool", func(pool *pool) bool {
		for _, w := range pool.warmReady() {
			if w.tool == tool && w.proc.PID() == f.Of(tool)[n].PID() {
				return true
			}
		}
		return false
	})
}

// TestWarmWorkers: a warm worker gets one call, and another one takes its place.
func TestWarmWorkers(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.Opening()
	for i := range 4 {
		p.warmed(f, "echo", i)
		if strings.Contains(f.Saw("echo", i), "tools/call") {
			t.Error("a warm worker has seen a call")
		}
		p.Send(sessiontest.CallOf(fmt.Sprint(i), "echo", "{}"))
		sessiontest.Has(t, p.Answer(fmt.Sprint(i)).Line, "calls=1", fmt.Sprintf("pid=%d ", f.Of("echo")[i].PID()))
	}
	p.warmed(f, "echo", 4)
	p.Nothing()
	if n := f.Started("echo"); n != 5 || f.Started("ask") != 0 {
		t.Errorf("%d processes", n)
	}
}

// TestWarmWorkerGetsOneCall: of two calls at once only one gets the warm worker.
func TestWarmWorkerGetsOneCall(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "ask"))
	p.Opening()
	p.warmed(f, "ask", 0)
	p.Send(sessiontest.CallOf("1", "ask", "{}"), sessiontest.CallOf("2", "ask", "{}"))
	for range 2 {
		p.Send(sessiontest.ReplyTo(p.Told("sampling/createMessage"), "{}"))
	}
	p.Answer("1")
	p.Answer("2")
	p.Nothing()
	if n := strings.Count(f.Saw("ask", 0), "tools/call"); n != 1 || f.Calls("ask") != 2 {
		t.Errorf("the warm worker has read %d calls", n)
	}
}

// TestWarmModernWorkers: in the modern era a warm worker has answered a server/discover.
func TestWarmModernWorkers(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.Ask(sessiontest.Modern("1", "tools/list", ""))
	sessiontest.Eventually(t, "a warm worker", func() bool { return f.Started("echo") == 1 && strings.Contains(f.Saw("echo", 0), "server/discover") })
	p.pooled("it is ready", func(pool *pool) bool {
		return len(pool.warmReady()) == 1
	})
	p.Send(sessiontest.ModernBy("another", "2", "tools/call", `"name":"echo"`))
	sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
	if strings.Contains(f.Saw("echo", 0), "tools/call") {
		t.Error("a warm worker was used for another client")
	}
	p.Nothing()
}

// TestWarmWorkerAsks: a request of a warm worker for the roots goes to the client and
// back.
func TestWarmWorkerAsks(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, _ int) string {
		if tool == "echo" {
			return `after={"jsonrpc":"2.0","id":0,"method":"roots/list"}`
		}
		return ""
	}
	p := beginStateless(t, f, warm(1, "echo"))
	p.Opening()
	p.Send(sessiontest.ReplyTo(p.Told("roots/list"), `{"roots":[]}`))
	sessiontest.Eventually(t, "it is answered", func() bool {
		return strings.Contains(f.Saw("echo", 0), `{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`)
	})
	p.warmed(f, "echo", 0)
	p.Send(sessiontest.CallOf("1", "echo", "{}"))
	sessiontest.Has(t, p.Answer("1").Line, fmt.Sprintf("pid=%d ", f.Of("echo")[0].PID()))
	p.Close() // the next warm worker has asked too
}
