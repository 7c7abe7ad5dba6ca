//go:build unix

package stateless

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestLogLevel: logging/setLevel reaches the running workers, and later ones after their
// handshake, never with the client's id.
func TestLogLevel(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Send(sessiontest.CallOf("1", "ask", "{}"))
	ask := p.Told("sampling/createMessage")
	p.Send(sessiontest.Legacy("2", "logging/setLevel", `{"level":"debug"}`), sessiontest.Legacy("3", "logging/setLevel", `{"level":"error"}`))
	p.Answer("2")
	sessiontest.Has(t, p.Answer("3").Line, `"result":{}`)
	p.Ask(sessiontest.CallOf("4", "echo", "{}"))
	sessiontest.Eventually(t, "the discovery process is told", func() bool { return strings.Contains(f.Saw("", 0), `{"level":"error"}`) })
	sessiontest.Has(t, p.Answer("1").Line, `method=logging/setLevel`) // the last method that it had read
	sessiontest.Has(t, string(p.Told("notifications/cancelled").Params), `"requestId":`+string(ask.ID))
	p.Nothing()
	saw := f.Saw("echo", 0)
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
			f := sessiontest.NewShop()
			f.Options = func(string, int) string { return option }
			p := beginStateless(t, f, func(s *session.Session, o *Options) {
				if session.TimesOf(s).Discover = time.Minute; option == "no-level" {
					session.TimesOf(s).Discover = 300 * time.Millisecond
				}
				o.Warm = func(string) int { return warm }
			})
			p.Greet()
			p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
			if warm == 1 {
				p.warmed(f, "echo", 0)
			}
			p.Send(sessiontest.Legacy("2", "logging/setLevel", `{"level":"error"}`), sessiontest.CallOf("3", "echo", "{}"))
			p.Answer("2")
			p.Answer("3")
			p.Nothing()
			served := 0
			for n := range f.Started("echo") {
				saw := f.Saw("echo", n)
				if !strings.Contains(saw, `"tools/call"`) {
					continue
				}
				if served++; !strings.Contains(saw, "setLevel") || strings.Contains(saw, "hurried") {
					t.Errorf("%s, warm = %d: saw %q", option, warm, saw)
				}
			}
			if served != 1 {
				t.Errorf("%s, warm = %d: %d processes have read the call", option, warm, served)
			}
		}
	}
}

// TestLargeLogLevel: a logging/setLevel that is too large to be repeated does no harm.
func TestLargeLogLevel(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, nil)
	p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"`+strings.Repeat("x", 5<<20)+`"}`))
	sessiontest.Has(t, f.Saw("", 0), `"id":1,"method":"logging/setLevel"`) // the server's own answer
	p.Send(sessiontest.HelloFrom("2", `{"x":"`+strings.Repeat("x", 5<<20)+`"}`))
	sessiontest.Has(t, p.Answer("2").Line, `"error":{"code":-32601`, "too large to be repeated")
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("3", "echo", "{}")).Line, "tool=echo")
	p.Nothing()
}
