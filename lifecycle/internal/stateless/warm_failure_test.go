//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

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
	n := f.Started("echo")
	p.pooled("another warm worker", func(pool *pool) bool {
		n = f.Started("echo")
		return len(pool.warmReady()) == 1
	})
	spare := f.Of("echo")[n-1]
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
		for i := range 20 {
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
