//go:build unix

package stateless

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestAmbiguousMessages: a message that two readers could read differently reaches no
// worker. Requests in it are answered with an error.
func TestAmbiguousMessages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		line string
		ids  string // that are answered
	}{
		"a name twice":            {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash"}}`, "1"},
		"another method":          {`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"echo"}}`, "1"},
		"two ids":                 {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"a strange id":            {`{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{"name":"echo"}}`, ""},
		"an id null":              {`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"echo"}}`, ""},
		"something behind":        {sessiontest.CallOf("1", "echo", "{}") + sessiontest.CallOf("2", "echo", "{}"), "1"},
		"no UTF-8":                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\xff\"}}", "1"},
		"neither":                 {`{"jsonrpc":"2.0","id":1}`, "1"},
		"nothing":                 {`{}`, ""},
		"junk, cut off":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}`, ""},
		"a large one":             {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"crash","arguments":"` + strings.Repeat("x", 5<<20) + `"}}`, "1"},
		"one of a batch":          {"[" + sessiontest.CallOf("1", "echo", "{}") + `,{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","name":"b"}},` + sessiontest.Initialized + "," + sessiontest.CallOf("3", "echo", "{}") + "]", "[1 2 3"},
		"a notification of a two": {`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, p := greeted(t, nil)
			p.Send(row.line)
			if ids, ok := strings.CutPrefix(row.ids, "["); ok {
				got, answers := p.batch()
				if got != ids {
					t.Errorf("answers to %s", got)
				}
				for _, a := range answers {
					sessiontest.Has(t, a, `"code":-32600`)
				}
			} else if row.ids != "" {
				sessiontest.Has(t, p.Answer(row.ids).Line, `"code":-32600`, "mcp-jail")
			}
			p.Ask(sessiontest.Legacy("9", "ping", "{}"))
			if p.Nothing() == "" {
				t.Error("nothing is said on stderr")
			}
			if n := f.Started("echo") + f.Started("crash") + f.Started("a"); n != 0 || strings.Contains(f.Saw("", 0), "tools/call") {
				t.Error("it has reached a process")
			}
		})
	}
}

// TestOversizedFrames: each request that is too large, and each call with an answer that
// is too large, gets an error; the session goes on.
func TestOversizedFrames(t *testing.T) {
	t.Parallel()
	f, p := greeted(t, func(s *session.Session, _ *Options) { s.Profile.Limits.MessageMB = 1 })
	large := `"` + strings.Repeat("x", 2<<20) + `"`
	sessiontest.Has(t, p.Ask(sessiontest.CallOf("1", "echo", large)).Line, `"code":-32603`, "message_mb")
	p.Send("[" + sessiontest.CallOf("2", "echo", large) + "," + sessiontest.CallOf("3", "echo", "{}") + "]")
	if ids, _ := p.batch(); ids != "2 3" {
		t.Errorf("answers to %s", ids)
	}
	p.Send(sessiontest.CallOf("4", "big", fmt.Sprint(2<<20)), sessiontest.CallOf("5", "big", "1000"))
	l := p.Answer("4").Line
	sessiontest.Has(t, l, `"code":-32603`, "message_mb", `"tool":"big"`)
	sessiontest.Has(t, p.Answer("5").Line, "bbbb")
	p.Send(`{"jsonrpc":"2.0","method":"notifications/x","params":` + large + "}")
	sessiontest.Has(t, p.Nothing(), "it was dropped")
	if f.Started("echo") != 0 {
		t.Error("it was run")
	}
}
