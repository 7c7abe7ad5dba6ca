//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
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

// TestUnansweredPort: an error without words gets the port of the loopback that the server tried in
// vain and at which the host listens. A success is not annotated.
func TestUnansweredPort(t *testing.T) {
	t.Parallel()
	const fails = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fails"}}`
	for _, c := range []struct {
		name    string
		call    string
		listens int
		at      time.Duration // of the connection, from now
		told    bool
	}{
		{"during the call", fails, 11434, time.Hour, true},
		{"before the call", fails, 11434, -time.Hour, true},
		{"no listener on the host", fails, 80, time.Hour, false},
		{"a success", sessiontest.CallLine, 11434, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := time.Now().Add(c.at)
			p := begin(t, &sessiontest.Fake{Server: "wordless", Unanswered: []policy.Unanswered{{Host: "localhost", Port: 11434, Time: at, Last: at}}}, func(s *session.Session) {
				s.Known.Listens = func(host string, port int) bool { return host == "localhost" && port == c.listens }
			})
			p.Send(c.call)
			got := p.Line()
			if told := strings.Contains(got, `"attribution":"likely"`) && strings.Contains(got, `localhost:11434`); told != c.told || !told && strings.Contains(got, "mcp-jail") {
				t.Errorf("told: %t\n%s", told, got)
			}
			p.Close()
		})
	}
}

// TestUsualHostsComeLast: a host that was refused before the call, and again during it,
// ranks after the host that only the call has contacted. The session's record tells the
// next session.
func TestUsualHostsComeLast(t *testing.T) {
	t.Parallel()
	refused := func(host string, count int, at time.Time) policy.Denial {
		return policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Target: host, Reason: "not_granted", Count: count, Time: at}
	}
	denials := []policy.Denial{refused("api.example", 1, time.Time{}), refused("telemetry.example", 9, time.Now().Add(-time.Hour))}
	p := begin(t, &sessiontest.Fake{Server: "grumbling", Denials: denials}, func(s *session.Session) {
		s.Profile.Entries = []policy.Entry{{Path: "/", Kind: policy.KindDir, Rights: policy.AllRights}} // what the text names
		s.Earlier = func() (diagnostics.Record, bool) {
			return diagnostics.Record{Denials: []policy.Denial{{Axis: policy.AxisNet, Target: "updates.example", Background: true}, {Axis: policy.AxisNet, Target: "api.example"}}}, true
		}
	})
	p.Send(sessiontest.CallLine)
	got := p.Line()
	api, telemetry := strings.Index(got, `may not reach api.example`), strings.Index(got, `"target":"telemetry.example"`)
	if api < 0 || telemetry < api || strings.Contains(got, "telemetry.example\\") {
		t.Errorf("want api.example alone in front:\n%s", got)
	}
	p.Close()
	usual := map[string]bool{}
	for _, d := range p.Record.Denials {
		usual[d.Target] = d.Background
	}
	if !usual["telemetry.example"] || usual["api.example"] || len(usual) != 2 {
		t.Errorf("recorded as usual: %v", usual)
	}
}
