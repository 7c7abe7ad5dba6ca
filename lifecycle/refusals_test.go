//go:build unix

package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
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
		diagnostest.Of(&s.Known).Exists = func(string) bool { return true }
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

// TestRefusalsNotLogged: what was blocked in a call that succeeded is in the answer's _meta, on standard error
// and in the record. It is no log message, also to a client that asked for those.
func TestRefusalsNotLogged(t *testing.T) {
	bothKinds(t, func(t *testing.T, kind string) {
		p := beginRefusing(t, kind, nil)
		p.Greet()
		p.Ask(sessiontest.Legacy("1", "logging/setLevel", `{"level":"debug"}`))
		modern := strings.Replace(sessiontest.Modern("3", "tools/call", `"name":"echo","arguments":{}`), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
		for _, call := range []string{sessiontest.CallOf("2", "echo", "{}"), modern} {
			p.Send(call)
			sessiontest.Has(t, p.Line(), `"result":`, `"dev.mcp-jail/denials":[`)
		}
		rest, stderr, _ := p.Close()
		if strings.Contains(rest, "notifications/message") {
			t.Errorf("it was sent %q", rest)
		}
		sessiontest.Has(t, stderr, `the server from creating /data/x`)
		if len(p.Record.Diagnoses) == 0 {
			t.Error("the record has no diagnosis")
		}
	})
}

// TestUnlogged: a client whose logging/setLevel the server has refused gets no log message.
func TestUnlogged(t *testing.T) {
	t.Parallel()
	p := begin(t, &sessiontest.Fake{Server: "erring"}, func(s *session.Session) {
		s.Profile.Leaks = policy.LeaksWarn
		s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}}
	})
	for _, method := range []string{"logging/setLevel", "tools/call"} {
		p.Send(sessiontest.Legacy("1", method, `{"level":"debug","name":"`+leaked+`"}`))
		sessiontest.Has(t, p.Line(), `"error":`)
	}
	sessiontest.Has(t, p.End(), "MY_TOKEN")
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
				diagnostest.Of(&s.Known).Listens = func(host string, port int) bool { return host == "localhost" && port == c.listens }
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
