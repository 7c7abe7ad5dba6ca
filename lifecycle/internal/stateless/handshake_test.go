//go:build unix

package stateless

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// strange is an initialize whose bytes no decoder and encoder would leave alone.
const strange = `{"jsonrpc": "2.0","id":"h", "x":1, "method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{ }},"clientInfo":{"name":"\u0063","version":"1"},"n":9007199254740993}}`

// TestHandshakeIsReplayed: each worker gets the client's own initialize, changed in its id
// only.
func TestHandshakeIsReplayed(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Send(strange, sessiontest.Initialized)
	p.Answer(`"h"`)
	p.Ask(sessiontest.CallOf("1", "echo", "{}"))
	p.Nothing()
	for _, log := range []string{f.Saw("", 0), f.Saw("echo", 0)} {
		lines := strings.Split(log, "\n")
		var m sessiontest.Said
		testkit.Must(t, json.Unmarshal([]byte(lines[0]), &m))
		if got := strings.Replace(lines[0], string(m.ID), `"h"`, 1); got != strange || lines[1] != sessiontest.Initialized {
			t.Errorf("%q, %q", lines[0], lines[1])
		}
	}
}

// TestStatements: each worker is told the policy of its own tool.
func TestStatements(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		resolve := o.Tool
		o.Tool = func(name string, _ bool) (Tool, error) {
			tool, err := resolve(name, false)
			if name == "" { // the discovery worker has nothing of theirs
				return tool, err
			}
			tool.Profile.Roots = session.RootsAdvertise
			tool.Profile.Entries = []policy.Entry{{Path: "/for/" + name, Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}
			return tool, err
		}
	})
	p.Greet()
	p.Send(sessiontest.CallOf("1", "echo", "{}"), sessiontest.CallOf("2", "fail", "{}"))
	p.Answer("1")
	p.Answer("2")
	p.Ask(sessiontest.Modern("3", "tools/call", `"name":"echo","arguments":{}`))
	p.Close()
	for _, row := range []struct {
		tool string
		n    int
		want string
	}{{"echo", 0, "/for/echo"}, {"fail", 0, "/for/fail"}, {"echo", 1, "/for/echo"}, {"", 0, ""}} {
		saw := f.Saw(row.tool, row.n)
		if got := strings.Count(saw, "dev.mcp-jail/policy"); row.want == "" && got != 0 || row.want != "" && (got == 0 || !strings.Contains(saw, row.want)) || strings.Count(saw, "/for/") != strings.Count(saw, row.want) && row.want != "" {
			t.Errorf("process %d of %q saw %q", row.n, row.tool, saw)
		}
	}
}

// TestSecondInitialize: after another initialize, no call gets a worker of the first one.
func TestSecondInitialize(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(_ *session.Session, o *Options) { o.Warm = func(string) int { return 1 }; o.MaxCalls = 1 })
	p.Ask(sessiontest.Legacy("1", "tools/list", "{}"))
	sessiontest.Eventually(t, "a warm worker", func() bool { return strings.Contains(f.Saw("echo", 0), "initialized") })
	p.Send(sessiontest.Legacy("3", "resources/read", `{"uri":"ask"}`)) // which the first discovery process works on
	ask := p.Told("roots/list")
	p.Send(sessiontest.HelloFrom("4", `{"sampling":{}}`), sessiontest.CallOf("5", "echo", "{}"), sessiontest.Legacy("6", "resources/read", `{"uri":"x"}`))
	for _, id := range []string{"4", "5", "6"} {
		p.Answer(id)
	}
	p.Send(`{"jsonrpc":"2.0","id":` + string(ask.ID) + `,"result":{"roots":[]}}`)
	sessiontest.Has(t, p.Answer("3").Line, `"heard":{"roots":[]}`)
	f.Of("")[0].Ended(t) // it has ended by itself
	p.Nothing()
	if saw := f.Saw("echo", 0); strings.Contains(saw, "tools/call") {
		t.Errorf("a warm worker of the first handshake was used: %q", saw)
	}
	if saw := f.Saw("", 1); !strings.Contains(saw, `"sampling"`) || !strings.Contains(saw, "resources/read") {
		t.Errorf("the second discovery process saw %q", saw)
	}
}

// TestHandshakeFails: a worker fails in its handshake: of a call, and of discovery.
func TestHandshakeFails(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]string{
		"die-boot":       "boot crash",
		"error-boot":     "boot crash",
		"silent-boot":    "boot crash",
		"ambiguous-boot": "call crash",
		"big-boot":       "boot crash",
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			f := sessiontest.NewShop()
			f.Options = func(tool string, _ int) string {
				if tool == "crash" {
					return option
				}
				return ""
			}
			p := beginStateless(t, f, func(s *session.Session, _ *Options) {
				if option == "silent-boot" {
					s.Profile.Startup = 2500 * time.Millisecond
				}
			})
			p.Greet()
			p.Send(sessiontest.CallOf("1", "crash", "{}"), sessiontest.CallOf("2", "echo", "{}"))
			sessiontest.IsFailure(t, p.Answer("1").Line, want)
			sessiontest.Has(t, p.Answer("2").Line, "tool=echo")
			p.Nothing()
		})
		t.Run("discovery "+option, func(t *testing.T) {
			t.Parallel()
			f := sessiontest.NewShop()
			f.Options = func(tool string, n int) string {
				if n == 0 {
					return option
				}
				return ""
			}
			p := beginStateless(t, f, func(s *session.Session, _ *Options) {
				if option == "silent-boot" {
					s.Profile.Startup = 2500 * time.Millisecond
				}
			})
			p.Send(sessiontest.ClientHello)
			if a := p.Answer("0"); a.Error == nil {
				t.Errorf("got %q", a.Line)
			} else if option == "error-boot" {
				sessiontest.Has(t, a.Line, `"error":{"code":-32000,"message":"no such version","data":{"theirs":1}}`)
			}
			p.Send(sessiontest.HelloFrom("1", "{}"))
			if a := p.Answer("1"); a.Result == nil {
				t.Errorf("the next one: %q", a.Line)
			}
			p.Nothing()
		})
	}
}

// TestSlowNote: stderr says that a call waits for a worker that is slow to answer, and says nothing of
// a warm worker, which no call waits for.
func TestSlowNote(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(tool string, _ int) string {
		if tool == "" {
			return ""
		}
		return "silent-boot"
	}
	p := beginStateless(t, f, func(s *session.Session, o *Options) {
		warm(1, "ask")(s, o)
		session.TimesOf(s).SlowNote = 50 * time.Millisecond
		resolve := o.Tool
		o.Tool = func(name string, _ bool) (Tool, error) {
			tool, err := resolve(name, false)
			if name != "" {
				tool.Profile.Startup = time.Second
			}
			return tool, err
		}
	})
	p.Opening()
	p.pooled("the warm worker has failed", func(pool *pool) bool {
		i := pool.warmTool("ask")
		return i >= 0 && !pool.warmTools[i].notUntil.IsZero()
	})
	sessiontest.FailureOf(t, p.Ask(sessiontest.CallOf("1", "echo", "{}")).Line)
	stderr := p.Nothing()
	if strings.Count(stderr, `waiting for the first answer of server "test" for tool "echo"; 50ms so far`) != 1 || strings.Contains(stderr, `for tool "ask"`) {
		t.Errorf("stderr %q", stderr)
	}
}

// TestFailureIsShared: requests that wait for a start share its failure, and do not start
// another worker each.
func TestFailureIsShared(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(string, int) string { return "silent-boot" }
	p := beginStateless(t, f, func(s *session.Session, _ *Options) { s.Profile.Startup = time.Second })
	p.Send(sessiontest.ClientHello)
	p.Answer("0")
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		p.Send(sessiontest.Legacy(id, "resources/read", "{}"))
	}
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		sessiontest.FailureOf(t, p.Answer(id).Line)
	}
	if n := f.Started(""); n > 4 { // each its own were 6
		t.Errorf("%d starts", n)
	}
	rest, _, status := p.Close()
	if rest != "" || status != 1 && status != 0 {
		t.Errorf("status %d, %q", status, rest)
	}
}

// TestModern: modern calls have no handshake and keep their bytes.
func TestModern(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	call := sessiontest.Modern("1", "tools/call", `"name":"echo","arguments":{"n": 9007199254740993}`)
	p.Send(call)
	sessiontest.Has(t, p.Answer("1").Line, `{\"n\": 9007199254740993}`, "calls=1")
	p.Ask(sessiontest.Modern("2", "tools/call", `"name":"echo","arguments":{}`))
	if saw := f.Saw("echo", 0); saw != call+"\n" || f.Started("echo") != 2 {
		t.Errorf("the process saw %q, of %d", saw, f.Started("echo"))
	}
	p.Nothing()
}

// TestClientsOfModernRequests: each modern request describes its client, and is answered
// for that one.
func TestClientsOfModernRequests(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	f.Options = func(_ string, n int) string { return "ttl=60000" }
	p := beginStateless(t, f, nil)
	for i := range 40 {
		id, client := fmt.Sprint(i), fmt.Sprint("client", i%4)
		p.Send(sessiontest.ModernBy(client, id, "tools/list", ""))
	}
	for i := range 40 {
		p.Answer(fmt.Sprint(i))
	}
	if f.Started("") != 1 {
		t.Errorf("%d discovery processes", f.Started(""))
	}
	for i := range 4 {
		n := strings.Count(f.Saw("", 0), fmt.Sprintf(`"name":"client%d"`, i))
		if n == 0 {
			t.Errorf("client %d was given the list of another", i)
		}
	}
	p.Nothing()
}

// TestRequestsWithoutVersion: a request that does not describe its client is one of the
// client before, and goes to a worker for that client.
func TestRequestsWithoutVersion(t *testing.T) {
	t.Parallel()
	f := sessiontest.NewShop()
	p := beginStateless(t, f, nil)
	p.Ask(sessiontest.Modern("1", "tools/list", ""))
	p.Send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`)
	p.Answer("2")
	if saw := f.Saw("", 0); f.Started("") != 1 || !strings.Contains(saw, "logging/setLevel") {
		t.Errorf("the first of %d saw %q", f.Started(""), saw)
	}
	p.Nothing()
}

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
				if session.TimesOf(s).SetLevel = time.Minute; option == "no-level" {
					session.TimesOf(s).SetLevel = 300 * time.Millisecond
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
