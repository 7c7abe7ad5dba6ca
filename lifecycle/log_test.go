//go:build unix

package lifecycle_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/stateless"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// lines are the calls that a session has told of.
type lines struct {
	mu  sync.Mutex
	all []string
	by  string
}

// take has a session tell of its calls.
func (l *lines) take(s *session.Session) {
	s.Events = &session.Events{
		Begun: func(string, string) {}, Tick: func() {}, Ended: func(by string) { l.by = by },
		Called: func(c *mcpproxy.Call, response *mcpproxy.Envelope) {
			l.mu.Lock()
			defer l.mu.Unlock()
			how := "ok"
			switch {
			case c.Cancelled:
				how = "cancelled"
			case response == nil:
				how = "by us"
			case response.Error.Present() || response.IsError:
				how = "failed"
			}
			l.all = append(l.all, string(c.ID)+" "+string(c.Tool)+" "+how)
		},
	}
}

// TestEachCallIsTold: each call has one line, however it ends.
func TestEachCallIsTold(t *testing.T) {
	large := sessiontest.CallOf("1", "echo", `{"x":"`+strings.Repeat("x", 2<<20)+`"}`)
	for name, row := range map[string]struct {
		server string // of a stateful session; "": stateless
		change func(*session.Session)
		send   []string
		wait   bool // for an answer to 1
		want   string
	}{
		"answered":                {"scribe", nil, []string{sessiontest.CallOf("1", "echo", "{}")}, true, "1 echo ok"},
		"answered, per call":      {"", nil, []string{sessiontest.CallOf("1", "echo", "{}")}, true, "1 echo ok"},
		"cancelled":               {"scribe", nil, []string{sessiontest.CallOf("1", "hang", "{}"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}, false, "1 hang cancelled"},
		"cancelled, per call":     {"", nil, []string{sessiontest.CallOf("1", "hang", "{}"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}, false, "1 hang cancelled"},
		"too late":                {"scribe", func(s *session.Session) { s.Profile.Call = 100 * time.Millisecond }, []string{sessiontest.CallOf("1", "hang", "{}")}, true, "1 hang by us"},
		"too late, per call":      {"", func(s *session.Session) { s.Profile.Call = 100 * time.Millisecond }, []string{sessiontest.CallOf("1", "hang", "{}")}, true, "1 hang by us"},
		"too large":               {"scribe", func(s *session.Session) { s.Profile.Limits.MessageMB = 1 }, []string{large}, true, "1 echo by us"},
		"too large, per call":     {"", func(s *session.Session) { s.Profile.Limits.MessageMB = 1 }, []string{large}, true, "1 echo by us"},
		"the end":                 {"scribe", sessiontest.Impatient, []string{sessiontest.CallOf("1", "hang", "{}")}, false, "1 hang by us"},
		"the end, per call":       {"", sessiontest.Impatient, []string{sessiontest.CallOf("1", "hang", "{}")}, false, "1 hang by us"},
		"ambiguous, per call":     {"", nil, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"echo"}}`}, true, "1 echo by us"},
		"no tool, no line of it":  {"scribe", nil, []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, true, ""},
		"a leak":                  {"polite", leakBlocked, []string{sessiontest.CallOf("1", "echo", `{"x":"`+leaked+`"}`)}, true, "1 echo by us"},
		"control: a leak that is": {"polite", nil, []string{sessiontest.CallOf("1", "echo", `{"x":"`+leaked+`"}`)}, true, "1 echo ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told lines
			change := func(s *session.Session) {
				told.take(s)
				if row.change != nil {
					row.change(s)
				}
			}
			var p *sessiontest.Play
			if row.server != "" {
				p = begin(t, &sessiontest.Fake{Server: row.server}, change)
			} else {
				p = beginStateless(t, sessiontest.NewShop(), func(s *session.Session, _ *stateless.Options) { change(s) })
			}
			p.Greet()
			p.Send(row.send...)
			if row.wait {
				p.Answer("1")
			}
			p.Close()
			slices.Sort(told.all)
			testkit.Equal(t, name, strings.Join(told.all, ", "), row.want)
			if told.by == "" {
				t.Error("nobody has ended it")
			}
		})
	}
}

func leakBlocked(s *session.Session) {
	s.Profile.Env = []policy.Variable{{Name: "MY_TOKEN", Value: leaked, Secret: true}}
	s.Profile.Leaks = policy.LeaksBlock
}
