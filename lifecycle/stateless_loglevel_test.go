//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// TestLogLevel: logging/setLevel reaches the running workers, and later ones after their
// handshake, never with the client's id.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(callOf("1", "ask", "{}"))
	ask := p.told("sampling/createMessage")
	p.send(legacy("2", "logging/setLevel", `{"level":"debug"}`), legacy("3", "logging/setLevel", `{"level":"error"}`))
	p.answer("2")
	has(t, p.answer("3").line, `"result":{}`)
	p.send(callOf("4", "echo", "{}"))
	p.answer("4")
	eventually(t, "the discovery process is told", func() bool { return strings.Contains(f.saw("", 0), `{"level":"error"}`) })
	has(t, p.answer("1").line, `method=logging/setLevel`) // the last method that it had read
	has(t, string(p.told("notifications/cancelled").Params), `"requestId":`+string(ask.ID))
	p.nothing()
	saw := f.saw("echo", 0)
	if strings.Contains(saw, "debug") || strings.Count(saw, "setLevel") != 1 || strings.Index(saw, "initialized") > strings.Index(saw, "setLevel") || strings.Contains(saw, `"id":3`) {
		t.Errorf("the process to come saw %q", saw)
	}
}

// TestLogLevelBeforeCall: a call, also one for a warm worker, is sent after the answer to
// logging/setLevel, since servers may work on both at once. A server that does not answer
// it is not waited for.
func TestLogLevelBeforeCall(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"slow-level", "no-level"} {
		for _, warm := range []int{0, 1} {
			f := newShop()
			f.options = func(string, int) string { return option }
			p := beginStateless(t, f, func(s *Session, o *Stateless) {
				if s.times.discover = time.Minute; option == "no-level" {
					s.times.discover = 300 * time.Millisecond
				}
				o.Warm = func(string) int { return warm }
			})
			p.greet()
			p.send(legacy("1", "tools/list", "{}"))
			p.answer("1")
			if warm == 1 {
				p.warmed(f, "echo", 0)
			}
			p.send(legacy("2", "logging/setLevel", `{"level":"error"}`), callOf("3", "echo", "{}"))
			p.answer("2")
			p.answer("3")
			p.nothing()
			if saw := f.saw("echo", 0); !strings.Contains(saw, "setLevel") || strings.Contains(saw, "hurried") {
				t.Errorf("%s, warm = %d: saw %q", option, warm, saw)
			}
		}
	}
}

// TestLargeLogLevel: a logging/setLevel that is too large to be repeated does no harm.
func TestLargeLogLevel(t *testing.T) {
	t.Parallel()
	f := newShop()
	p := beginStateless(t, f, nil)
	p.greet()
	p.send(legacy("1", "logging/setLevel", `{"level":"`+strings.Repeat("x", 5<<20)+`"}`))
	p.answer("1")
	has(t, f.saw("", 0), `"id":1,"method":"logging/setLevel"`) // the server's own answer
	p.send(helloFrom("2", `{"x":"`+strings.Repeat("x", 5<<20)+`"}`))
	has(t, p.answer("2").line, `"error":{"code":-32601`, "too large to be repeated")
	p.send(callOf("3", "echo", "{}"))
	has(t, p.answer("3").line, "tool=echo")
	p.nothing()
}
