//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
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

// TestDeadWarmWorkers: a warm worker that dies before it has read its call does not fail
// the call.
func TestDeadWarmWorkers(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "echo"))
	p.Opening()
	p.warmed(f, "echo", 0)
	f.Of("echo")[0].Kill()
	f.Of("echo")[0].Ended(t)
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line, "tool=echo")
	pid := 0
	p.pooled("another warm worker", func(pool *pool) bool {
		for _, w := range pool.warmReady() {
			pid = w.proc.PID()
		}
		return pid != 0
	})
	spare := f.Of("echo")[0]
	for _, process := range f.Of("echo") {
		if process.PID() == pid {
			spare = process
		}
	}
	spare.Signal(syscall.SIGSTOP)                                               // so that it does not read its call
	p.Send(sessiontest.CallOf("2", "echo", `"`+strings.Repeat("x", 5<<20)+`"`)) // more than is held in memory
	p.pooled("it was handed out", func(pool *pool) bool {
		return len(pool.warmReady()) == 0 || pool.warmReady()[0].proc.PID() != spare.PID()
	})
	spare.Kill()
	if l := p.Answer("2").Line; !strings.Contains(l, "calls=1 tool=echo") || len(l) < 5<<20 {
		t.Errorf("got %.300q", l)
	}
	if stderr := p.Nothing(); stderr != "" {
		t.Errorf("stderr %q", stderr)
	}
}

// TestCallsAreNotRepeated: a worker that has read a part of a call may have run it, so the
// call is not repeated.
func TestCallsAreNotRepeated(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, warm(1, "deaf", "crash"))
	p.Opening()
	p.warmed(f, "deaf", 0)
	p.Send(sessiontest.CallOf("1", "deaf", "{}"))
	sessiontest.Eventually(t, "it has read the call", func() bool { return strings.Contains(f.Saw("deaf", 0), "deaf\n") })
	p.Send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	sessiontest.Eventually(t, "the others have been told", func() bool { return strings.Contains(f.Saw("", 0), "roots/list_changed") })
	f.Of("deaf")[0].Kill()
	sessiontest.IsFailure(t, p.Answer("1").Line, "call deaf")
	p.warmed(f, "crash", 0)
	sessiontest.FailureOf(t, p.Ask(sessiontest.CallOf("2", "crash", "{}")).Line)
	p.Nothing()
	if f.Calls("deaf") != 1 || f.Calls("crash") != 1 {
		t.Errorf("%d and %d calls were read", f.Calls("deaf"), f.Calls("crash"))
	}
}

// TestFailingWarmWorkers: their failures are not announced, they are not started again at
// once, and the next call gets the reason.
func TestFailingWarmWorkers(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"die-boot stderr=x stdout=y", "error-boot", "exec"} {
		f := sessiontest.NewShop()
		f.Options = func(tool string, _ int) string {
			if tool == "echo" {
				return option
			}
			return ""
		}
		if option == "exec" {
			f.Errs = map[string]error{"echo": sessiontest.ErrExec}
		}
		p := beginStateless(t, f, func(s *session.Session, o *Options) {
			warm(1, "echo")(s, o)
			session.TimesOf(s).Tick = 5 * time.Millisecond
		})
		p.Opening()
		p.pooled("a warm worker has failed", func(pool *pool) bool {
			i := pool.warmTool("echo")
			return i >= 0 && !pool.warmTools[i].notUntil.IsZero()
		})
		for i := range 8 {
			p.Send(sessiontest.CallOf(fmt.Sprint(10+i), "fail", "{}"))
			p.Answer(fmt.Sprint(10 + i))
		}
		p.session.client.Record.Mu.Lock()
		for _, d := range p.session.client.Record.Diagnoses {
			if d.Tool == "echo" {
				t.Errorf("%s: a failure that no call waits for: %q", option, d.What)
			}
		}
		p.session.client.Record.Mu.Unlock()
		if n := f.Started("echo"); n > 5 { // the pauses between them grow: 2, 4, 8, 16 s
			t.Errorf("%s: %d starts", option, n)
		}
		sessiontest.FailureOf(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line)
		rest, stderr, _ := p.Close()
		if rest != "" || strings.Count(stderr, `"echo"`)+strings.Count(stderr, `such as "y"`) == 0 && option != "exec" && option != "error-boot" {
			t.Errorf("%s: %q, stderr %q", option, rest, stderr)
		}
	}
}

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
		used := strings.Count(f.Saw("echo", 0)+f.Saw("echo", 1), "tools/call")
		if (used == 1) != whole {
			t.Fatalf("whole: %t; %d of the warm workers have read the call", whole, used)
		}
		for n := range 2 {
			if !whole {
				f.Of("echo")[n].Ended(t)
			}
		}
		p.Nothing()
	}
}

// TestWarmProfiles: warm workers under a policy that means something else by now are
// killed.
func TestWarmProfiles(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	var changed atomic.Bool
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		warm(2, "echo")(s, o)
		resolve := o.Tool
		o.Tool = func(name string, _ bool) (Tool, error) {
			tool, err := resolve(name, false)
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
		o.Tool = func(name string, _ bool) (Tool, error) {
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
