//go:build unix

package lifecycle

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
		if rest != "" || strings.Count(stderr, `"echo"`)+strings.Count(stderr, `such as "y"`) == 0 && option != "exec" && option != "error-boot" {
			t.Errorf("%s: %q, stderr %q", option, rest, stderr)
		}
	}
}
