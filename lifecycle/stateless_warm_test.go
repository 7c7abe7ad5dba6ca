//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"testing"
)

// warm keeps n warm workers of each of some tools.
func warm(n int, tools ...string) func(*Session, *Stateless) {
	return func(_ *Session, o *Stateless) {
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

// ready waits until the n-th process of a tool is past its handshake.
func (f *fleet) ready(t testing.TB, tool string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("warm worker %d of %s", n, tool), func() bool { return strings.Contains(f.saw(tool, n), "initialized") })
}

// calls counts the calls that processes of a tool have read.
func (f *fleet) calls(tool string) (n int) {
	for i := range f.started(tool) {
		n += strings.Count(f.saw(tool, i), "tools/call")
	}
	return n
}

// warmed waits until the n-th process of a tool is a warm worker in the pool.
func (p *play) warmed(f *fleet, tool string, n int) {
	p.t.Helper()
	f.ready(p.t, tool, n)
	eventually(p.t, "the worker is in the pool", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		for _, w := range p.session.pool.ready {
			if w.tool == tool && w.proc.PID() == f.of(tool)[n].PID() {
				return true
			}
		}
		return false
	})
}

// TestWarmWorkers: a warm worker gets one call, and another one takes its place.
func TestWarmWorkers(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.opening()
	for i := range 4 {
		p.warmed(f, "echo", i)
		if strings.Contains(f.saw("echo", i), "tools/call") {
			t.Error("a warm worker has seen a call")
		}
		p.send(callOf(fmt.Sprint(i), "echo", "{}"))
		has(t, p.answer(fmt.Sprint(i)).line, "calls=1", fmt.Sprintf("pid=%d ", f.of("echo")[i].PID()))
	}
	p.warmed(f, "echo", 4)
	p.nothing()
	if n := f.started("echo"); n != 5 || f.started("ask") != 0 {
		t.Errorf("%d processes", n)
	}
}

// TestWarmWorkerGetsOneCall: of two calls at once only one gets the warm worker.
func TestWarmWorkerGetsOneCall(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, warm(1, "ask"))
	p.opening()
	p.warmed(f, "ask", 0)
	p.send(callOf("1", "ask", "{}"), callOf("2", "ask", "{}"))
	for range 2 {
		p.send(replyTo(p.told("sampling/createMessage"), "{}"))
	}
	p.answer("1")
	p.answer("2")
	p.nothing()
	if n := strings.Count(f.saw("ask", 0), "tools/call"); n != 1 || f.calls("ask") != 2 {
		t.Errorf("the warm worker has read %d calls", n)
	}
}

// TestWarmModernWorkers: in the modern era a warm worker has answered a server/discover.
func TestWarmModernWorkers(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.send(modern("1", "tools/list", ""))
	p.answer("1")
	eventually(t, "a warm worker", func() bool { return f.started("echo") == 1 && strings.Contains(f.saw("echo", 0), "server/discover") })
	eventually(t, "it is ready", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		return len(p.session.pool.ready) == 1
	})
	p.send(modernBy("another", "2", "tools/call", `"name":"echo"`))
	has(t, p.answer("2").line, "tool=echo")
	if strings.Contains(f.saw("echo", 0), "tools/call") {
		t.Error("a warm worker was used for another client")
	}
	p.nothing()
}

// TestWarmWorkerAsks: a request of a warm worker for the roots goes to the client and
// back.
func TestWarmWorkerAsks(t *testing.T) {
	t.Parallel()
	f := newShop()
	f.options = func(tool string, _ int) string {
		if tool == "echo" {
			return `after={"jsonrpc":"2.0","id":0,"method":"roots/list"}`
		}
		return ""
	}
	p := beginStateless(t, f, warm(1, "echo"))
	p.opening()
	p.send(replyTo(p.told("roots/list"), `{"roots":[]}`))
	eventually(t, "it is answered", func() bool {
		return strings.Contains(f.saw("echo", 0), `{"jsonrpc":"2.0","id":0,"result":{"roots":[]}}`)
	})
	p.warmed(f, "echo", 0)
	p.send(callOf("1", "echo", "{}"))
	has(t, p.answer("1").line, fmt.Sprintf("pid=%d ", f.of("echo")[0].PID()))
	p.close() // the next warm worker has asked too
}
