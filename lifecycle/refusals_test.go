//go:build unix

package lifecycle

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/policy"
)

var refusedFile = policy.Denial{Axis: policy.AxisFs, Operation: "create", Target: "/data/x", Count: 1}

// beginRefusing begins a session in which something is refused at each call of echo, which succeeds.
func beginRefusing(t *testing.T, kind string, change func(*session.Session)) *sessiontest.Play {
	t.Helper()
	both := func(s *session.Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/usr", Rights: policy.Read | policy.Execute}}
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}}
		s.Known.Exists = func(string) bool { return true }
		if change != nil {
			change(s)
		}
	}
	if kind == "stateful" {
		return begin(t, &sessiontest.Fake{Server: "scribe", Denials: []policy.Denial{refusedFile}}, both)
	}
	f := sessiontest.NewShop()
	f.Denials = map[string][]policy.Denial{"echo": {refusedFile}}
	return beginStateless(t, f, func(s *session.Session, _ *stateless.Options) { both(s) })
}

// isWarning fails the test if a message is not the log message about refusedFile.
func isWarning(t *testing.T, line string) {
	t.Helper()
	sessiontest.Has(t, line, `"method":"notifications/message","params":{"level":"warning","logger":"mcp-jail","data":"`,
		`"_meta":{"dev.mcp-jail/warning":true}}}`, `the server from creating /data/x`, `restart the server:\n  mcp-jail grant test --last`)
}

// TestRefusalLogged: a client that has asked for log messages of the level warning gets one about a
// refusal, before the answer of that call and once for those that are alike. Until it asks, and when it
// asks for more serious ones alone, it gets none.
func TestRefusalLogged(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p := beginRefusing(t, kind, nil)
		p.Greet()
		p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"warning"}`))
		p.Send(sessiontest.CallOf("2", "echo", "{}"))
		isWarning(t, p.Line())
		if answer := p.Line(); !sessiontest.HasID(answer, "2") {
			t.Errorf("%s, and not the answer", answer)
		}
		p.Ask(sessiontest.CallOf("3", "echo", "{}"))
		p.End()

		for _, setLevel := range []string{`{"level":"error"}`, ""} {
			p = beginRefusing(t, kind, nil)
			p.Greet()
			if setLevel != "" {
				p.Ask(sessiontest.Legacy("1", "logging/setLevel", setLevel))
			}
			for _, id := range []string{"2", "3"} {
				p.Ask(sessiontest.CallOf(id, "echo", "{}"))
			}
			if len(p.Stash) > 0 {
				t.Errorf("%s: it was sent %q", setLevel, p.Stash)
			}
			// It asks now, and gets what has waited.
			p.Ask(sessiontest.Legacy("4", "logging/setLevel", `{"level":"debug"}`))
			isWarning(t, p.Told("notifications/message").Line)
			p.End()
		}
	})
}

// TestRefusalUnlogged: a client whose logging/setLevel the server has refused gets no log message.
func TestRefusalUnlogged(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "erring", Denials: []policy.Denial{refusedFile}}, nil)
	for _, method := range []string{"logging/setLevel", "tools/call"} {
		p.Send(sessiontest.Legacy("1", method, `{"level":"debug","name":"x"}`))
		sessiontest.Has(t, p.Line(), `"error":`)
	}
	p.End()
}

// TestRefusalLoggedModern: a modern request that asks for log messages gets its own, and one that does
// not gets none, also while another that asks waits for its answer (2026-07-28, "Logging").
func TestRefusalLoggedModern(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p := beginRefusing(t, kind, nil)
		call := func(id, level, tool string) {
			line := sessiontest.Modern(id, "tools/call", `"name":"`+tool+`","arguments":{}`)
			if level != "" {
				line = strings.Replace(line, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"`+level+`",`, 1)
			}
			p.Send(line)
		}
		for id, level := range map[string]string{"1": "", "2": "error", "3": "no such level"} {
			call(id, level, "echo")
			p.Answer(id)
		}
		for _, id := range []string{"4", "5"} {
			call(id, "info", "echo")
			isWarning(t, p.Line())
			p.Answer(id)
		}
		hanging := "hang"
		if kind == "stateless" {
			hanging = "never"
		}
		call("6", "debug", hanging)
		if kind == "stateless" {
			p.Told("notifications/message") // the process says that it works
		}
		call("7", "", "echo")
		p.Answer("7")
		if len(p.Stash) > 0 {
			t.Errorf("it was sent %q", p.Stash)
		}
		p.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}`)
		p.End()
	})
}

// TestRefusedSilently: a client that has asked for log messages is told of a refusal from which no call
// fails, without secrets.
func TestRefusedSilently(t *testing.T) {
	t.Parallel()
	fake := &sessiontest.Fake{Server: "scribe"}
	p := begin(t, fake, func(s *session.Session) {
		s.Known.Exists = func(string) bool { return true }
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}}
	})
	p.Greet()
	p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"info"}`))
	fake.Mu.Lock()
	d := refusedFile
	d.Target = "/data/" + leaked
	fake.Denials = []policy.Denial{d}
	fake.Mu.Unlock()
	line := p.Told("notifications/message").Line
	sessiontest.Has(t, line, `the jail blocked something of test`, "/data/")
	if rest := p.End(); strings.Contains(rest+line, leaked) {
		t.Errorf("it has a secret: %s, %s", line, rest)
	}
}
