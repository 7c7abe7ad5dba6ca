//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
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

// TestDeadWarmWorkers: a warm worker that dies before it has read its call does not fail
// the call.
func TestDeadWarmWorkers(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.opening()
	p.warmed(f, "echo", 0)
	f.of("echo")[0].Kill()
	f.of("echo")[0].ended(t)
	p.send(callOf("1", "echo", "{}"))
	has(t, p.answer("1").line, "tool=echo")
	n := f.started("echo")
	eventually(t, "another warm worker", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		n = f.started("echo")
		return len(p.session.pool.ready) == 1
	})
	spare := f.of("echo")[n-1]
	spare.Signal(syscall.SIGSTOP)                                   // so that it does not read its call
	p.send(callOf("2", "echo", `"`+strings.Repeat("x", 5<<20)+`"`)) // more than is held in memory
	eventually(t, "it was handed out", func() bool {
		p.session.pool.mu.Lock()
		defer p.session.pool.mu.Unlock()
		return len(p.session.pool.ready) == 0 || p.session.pool.ready[0].proc.PID() != spare.PID()
	})
	spare.Kill()
	if l := p.answer("2").line; !strings.Contains(l, "calls=1 tool=echo") || len(l) < 5<<20 {
		t.Errorf("got %.300q", l)
	}
	if stderr := p.nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestCallsAreNotRepeated: a worker that has read a part of a call may have run it, so the
// call is not repeated.
func TestCallsAreNotRepeated(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, warm(1, "deaf", "crash"))
	p.opening()
	p.warmed(f, "deaf", 0)
	p.send(callOf("1", "deaf", "{}"))
	eventually(t, "it has read the call", func() bool { return strings.Contains(f.saw("deaf", 0), "deaf\n") })
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	eventually(t, "the others have been told", func() bool { return strings.Contains(f.saw("", 0), "roots/list_changed") })
	f.of("deaf")[0].Kill()
	if got := failureOf(t, p.answer("1").line).String(); !strings.HasSuffix(got, "call deaf") {
		t.Error(got)
	}
	p.warmed(f, "crash", 0)
	p.send(callOf("2", "crash", "{}"))
	failureOf(t, p.answer("2").line)
	p.nothing()
	if f.calls("deaf") != 1 || f.calls("crash") != 1 {
		t.Errorf("%d and %d calls were read", f.calls("deaf"), f.calls("crash"))
	}
}

// TestFailingWarmWorkers: their failures are not announced, they are not started again at
// once, and the next call gets the reason.
func TestFailingWarmWorkers(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"die-boot stderr=x stdout=y", "error-boot", "exec"} {
		f := newShop()
		f.options = func(tool string, _ int) string {
			if tool == "echo" {
				return option
			}
			return ""
		}
		if option == "exec" {
			f.errs = map[string]error{"echo": errExec}
		}
		p := beginStateless(t, f, func(s *Session, o *Stateless) {
			warm(1, "echo")(s, o)
			s.times.tick = 5 * time.Millisecond
		})
		p.opening()
		eventually(t, "a warm worker has failed", func() bool {
			p.session.pool.mu.Lock()
			defer p.session.pool.mu.Unlock()
			tool := p.session.pool.tools["echo"]
			return tool != nil && tool.failures > 0
		})
		for i := range 20 {
			p.send(callOf(fmt.Sprint(10+i), "fail", "{}"))
			p.answer(fmt.Sprint(10 + i))
		}
		p.session.client.recordMu.Lock()
		for _, d := range p.session.client.record.Diagnoses {
			if d.Tool == "echo" {
				t.Errorf("%s: a failure that no call waits for: %q", option, d.What)
			}
		}
		p.session.client.recordMu.Unlock()
		if n := f.started("echo"); n > 5 { // the pauses between them grow: 2, 4, 8, 16 s
			t.Errorf("%s: %d starts", option, n)
		}
		p.send(callOf("1", "echo", "{}"))
		failureOf(t, p.answer("1").line)
		rest, stderr, _ := p.close()
		if rest != "" || strings.Count(stderr, `"echo"`)+strings.Count(stderr, "such as y") == 0 && option != "exec" && option != "error-boot" {
			t.Errorf("%s: %q, stderr %q", option, rest, stderr)
		}
	}
}

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
